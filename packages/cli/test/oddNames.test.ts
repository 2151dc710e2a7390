import { describe, expect, test } from "vitest";
import { submit } from "../../../src/engine/client/submit.ts";
import { cliWorld } from "./cliWorld.ts";
import { commandNames } from "./commandNames.ts";

/** Each was, or could be, taken for something else on its way: a path of another route, a pattern, an option, no name at all. */
const oddNames = [
  ...["/_", "a/b", "r1/failures", "r1/", "/", "//", "%2F", "%2f%2F", "%", "%zz", "%00", "\\", "..", ".", "~"],
  ...[
    "?",
    "a?b",
    "#",
    "a#b",
    "&",
    "=",
    "a=b",
    "\\u0000",
    "\u0000",
    "\u202e",
    "\ud800",
    "é",
    "💥",
    "__proto__",
  ],
  ...["constructor", "null", "NaN", "-1", "1e999", "'", '"', "\t", "\n", "x".repeat(5_000), "r1 ", "R1"],
];

/** `init`, `new` and `check` would write and run real files. */
const lines: readonly ((name: string) => readonly string[])[] = [
  ...commandNames
    .filter((one) => one !== "init" && one !== "new" && one !== "check")
    .map((one) => (name: string) => [one, name]),
  ...["peek", "clear"].map((one) => (name: string) => ["queues", one, name]),
  ...["show", "pause", "resume", "delete"].map((one) => (name: string) => ["schedule", one, name]),
  ...["plan", "submit"].flatMap((one) => [
    (name: string) => [one, "sum", "--to", name],
    (name: string) => [one, "sum", "--param", `to=${name}`],
    (name: string) => [one, "sum", `--${name}`],
  ]),
  ...["id", "tag", "cap", "tolerate", "deadline", "attempts", "pack-size", "retry-after", "reuse"].map(
    (option) => (name: string) => ["submit", "sum", "--to", "3", `--${option}=${name}`],
  ),
  ...["generation", "sample"].map((one) => (name: string) => ["verify", "r1", `--${one}=${name}`]),
  ...["since", "by", "tag", "max", "state"].map((one) => (name: string) => ["runs", `--${one}=${name}`]),
  (name) => ["cap", "r1", name],
  (name) => ["costs", "--by", name],
  (name) => ["queues", "peek", "packs", "-n", name],
  (name) => ["runs", "--namespace", name],
];

describe("a name or value that no command expects is refused, or found nowhere, and is never a bug", () => {
  test.each(oddNames.map((name) => [JSON.stringify(name).slice(0, 40), name]))("%s", async (_shown, name) => {
    const world = await cliWorld();
    await submit(world.client, { calculation: "sum", params: { to: 3 }, id: "r1" });
    const bugs: string[] = [];
    for (const line of lines) {
      const started = world.startWords(line(name), { folder: "/nowhere" });
      world.client.clock.after(60_000, () => started.interrupt());
      const { exitCode, out, err } = await world.world.finish(started.ended, 3_600_000);
      const isBug = exitCode === 70 || /\bat .*\.ts:\d+|is a bug/.test(out + err);
      if (isBug) bugs.push(`${line(name).join(" ")}: ${err}`);
    }
    expect(bugs).toEqual([]);
  });
});
