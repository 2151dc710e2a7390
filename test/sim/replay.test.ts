import { expect, test } from "vitest";
import { everyPoint } from "./election/everyPoint.ts";
import { simulateCase } from "./engine/engineCase.ts";
import { scenarios } from "./engine/scenarios/scenarios.ts";
import { replay, replayCommand } from "./replay.ts";

async function replayed(...args: readonly string[]): Promise<{ code: number; lines: readonly string[] }> {
  const lines: string[] = [];
  return { code: await replay(args, (line) => void lines.push(line)), lines };
}

/** The arguments that a shell makes of a printed command. */
const argsOf = (command: string): string[] =>
  [...command.replace("npm run sim -- ", "").matchAll(/(?:"[^"]*"|[^\s"])+/g)].map(([word]) =>
    word.replaceAll('"', ""),
  );

test("A replayed seed prints its events in the order of virtual time and plays the same world", async () => {
  const { digest, violations } = await simulateCase(8);
  expect(violations).toEqual([]);
  const { code, lines } = await replayed("--seed", "8", "--trace");
  expect(code).toBe(0);
  expect(lines.at(-2)).toContain(`"digest":"${digest}"`);
  expect(lines.at(-1)).toBe("Every promise was kept.");
  const events = lines.slice(0, -2);
  const times = events.map((line) => Number(line.slice(0, 10)));
  expect(times).toEqual([...times].sort((a, b) => a - b));
  for (const what of [
    /node-1 +run-taken-over /,
    /storage +created +sim-runs=run0/,
    /process (killed|stopped)/,
  ]) {
    expect(events.filter((line) => what.test(line)).length).toBeGreaterThan(0);
  }
  expect((await replayed("--seed", "8")).lines).toEqual(lines.slice(-2));
});

test("A broken promise is printed, and the exit code of the replay is 1", async () => {
  const { code, lines } = await replayed("--point", "leader,0,arrives");
  expect({ code, last: lines.at(-1) }).toEqual({ code: 0, last: "Every promise was kept." });
  const titles = scenarios as Record<string, () => ReturnType<typeof simulateCase>>;
  const title = "a promise that is broken for this test";
  titles[title] = async () => ({
    ...(await simulateCase(6)),
    violations: [{ checker: "the cap is kept", what: "five attempts are in flight (at 1.000 s)" }],
  });
  try {
    const broken = await replayed("--case", "broken for this test");
    expect(broken.code).toBe(1);
    expect(broken.lines.at(-1)).toBe("BROKEN: the cap is kept: five attempts are in flight (at 1.000 s)");
  } finally {
    delete titles[title];
  }
});

test("The election's simulation replays seeds and points as well", async () => {
  const seed = await replayed("--election", "--seed", "44", "--trace");
  expect(seed.code).toBe(0);
  expect(seed.lines.some((line) => /instance 1 +lease-claimed +holder=instance 1 +term=/.test(line))).toBe(
    true,
  );
  const point = { call: 4, fate: "lost reply", times: 3, operator: "breaks", early: false } as const;
  const { code, lines } = await replayed(...argsOf(replayCommand(point)));
  expect(code).toBe(0);
  expect(lines[0]).toContain((await everyPoint(point)).digest);
});

test("The printed command of a case replays that very case", async () => {
  const point = { who: "worker", call: 9, fate: "dies before" } as const;
  for (const one of [-3, Object.keys(scenarios)[0] as string, point]) {
    const { lines } = await replayed(...argsOf(replayCommand(one)));
    expect(lines[0]).toContain(`"digest":"${(await simulateCase(one)).digest}"`);
  }
});

test.each([
  [[], "Exactly one of --seed, --case and --point"],
  [["--seed", "1", "--case", "a"], "Exactly one of --seed, --case and --point"],
  [["--seed", "x"], 'A seed is a whole number, not "x"'],
  [["--case", "no such title"], 'No scenario has "no such title"'],
  [["--case", "a"], "Several scenarios have"],
  [["--point", "leader,3,explodes"], 'There is no fate "explodes"'],
  [["--point", "leader,3,dies before,sleeps"], 'There is no story "sleeps"; there are reuses'],
  [["--election", "--case", "a"], "no scenarios"],
  [["--nonsense"], "--nonsense"],
])("The arguments %j are refused with exit code 2", async (args, message) => {
  const { code, lines } = await replayed(...args);
  expect(code).toBe(2);
  expect(lines.join("\n")).toContain(message);
});

test("The help of the replay names every option, and the list every scenario", async () => {
  const { code, lines } = await replayed("--help");
  expect(code).toBe(0);
  for (const option of ["--seed", "--case", "--point", "--election", "--list", "--trace"]) {
    expect(lines.join("\n")).toContain(option);
  }
  expect((await replayed("--list")).lines).toEqual(expect.arrayContaining(Object.keys(scenarios)));
});

test("A range of seeds is played one after the other, and figures tell what a disturbed run took and its bound", async () => {
  expect(await replayed("--seeds", "7-8")).toEqual({
    code: 0,
    lines: ["2 worlds, of which 0 broke a promise."],
  });
  const { lines } = await replayed("--figures", "a third of the workers dies beside a run in backoff");
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^holds: a third .*\n +[\d.]+ s, undisturbed [\d.]+ s.*\n +bound: 20\.0 s more$/);
  expect(await replayed("--seeds", "x-8")).toMatchObject({ code: 2 });
});
