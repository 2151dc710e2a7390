import fc from "fast-check";
import { expect, test } from "vitest";
import { submit } from "../../../src/engine/client/submit.ts";
import { fuzzRuns } from "../../../test/support/fuzzRuns.ts";
import { exitCodes } from "../exitCodes.ts";
import { cliWorld } from "./cliWorld.ts";
import { commandNames } from "./commandNames.ts";

const runs = fuzzRuns(300, 2_000);

/** `init`, `new` and `check` would write and run real files. */
const commands = [
  ...commandNames.filter((name) => name !== "init" && name !== "new" && name !== "check"),
  ...["calculations", "leader break", "queues peek", "queues clear", "dance"],
];
const word = fc.oneof(
  fc.constantFrom(
    "r1",
    "r2",
    "sum",
    "0",
    "-1",
    "1e9",
    "--",
    "-",
    "..",
    "%",
    "5%",
    "__proto__",
    "packs",
    "true",
  ),
  fc.string({ maxLength: 12 }).map((text) => text.replaceAll(" ", "_")),
);
const option = fc.constantFrom(
  ...[
    "--json",
    "--to",
    "--to=3",
    "--id",
    "--wait",
    "--yes",
    "--pack-size",
    "--tolerate",
    "--cap",
    "--sample",
  ],
  ...[
    "--generation",
    "--output",
    "--max",
    "--help",
    "--version",
    "--nothing",
    "--deadline",
    "--attempts",
    "--so-far",
  ],
  ...["--connection", "--account", "--namespace", "--label", "--exact", "-o", "-h", "--no-wait", "--inputs"],
);

test("every command line, however odd, ends with a documented exit code and shows no bug and no stack", async () => {
  const known = new Set(exitCodes.map(([code]) => code));
  const world = await cliWorld();
  await world.putResult(await submit(world.client, { calculation: "sum", params: { to: 3 }, id: "r1" }), "3");
  await submit(world.client, { calculation: "sum", params: { to: 3 }, id: "r2" });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...commands),
      fc.array(fc.oneof(word, option), { maxLength: 5 }),
      async (command, rest) => {
        // No option may write a file of a name that was drawn.
        const line = [command, ...rest].join(" ").replaceAll(/--output|-o/g, "--json");
        const started = world.start(line, { folder: "/nowhere" });
        world.client.clock.after(60_000, () => started.interrupt());
        const { exitCode, out, err } = await world.world.finish(started.ended, 3_600_000);
        expect(known, line).toContain(exitCode);
        expect(exitCode, `${line}: ${err}`).not.toBe(70);
        expect(`${out}${err}`).not.toMatch(/\bat .*\.ts:\d+|is a bug/);
      },
    ),
    runs,
  );
});
