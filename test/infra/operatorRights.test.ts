import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CliWorld, cliWorld } from "../../packages/cli/test/cliWorld.ts";
import { commandNames } from "../../packages/cli/test/commandNames.ts";
import { command } from "../../src/engine/client/commands/command.ts";
import { addSchedule } from "../../src/engine/client/schedules/changeSchedule.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { leaderBlob } from "../../src/engine/model/names.ts";
import { names } from "../client/clientWorld.ts";
import { answeringWorker, putAnswer } from "../client/questions/answeringWorker.ts";
import { finishedRun, verifyingWorker } from "../client/questions/finishedRun.ts";
import { type Asker, allows, grantedStorage, grantsOf, type Operation } from "./grants.ts";

/**
 * Each command of the command line, with who may give it at least. What a command needs is what it asks of storage when
 * it runs; what somebody has is what the templates assign. docs/OPERATIONS.md says the same to people.
 */
interface Line {
  readonly line: string;
  readonly least: Asker;
  readonly before?: (world: CliWorld) => Promise<unknown>;
  /** Files are read in real time. */
  readonly files?: true;
}

const finished = (world: CliWorld) => finishedRun(world);
const computing = (world: CliWorld) => inPhase(world, "computing");
const cancelled = (world: CliWorld) => inPhase(world, "cancelled");
const inPhase = async (world: CliWorld, phase: "computing" | "cancelled") => {
  const run = await submit(world.client, { calculation: "sum", params: { to: 100 }, id: "r1" });
  const layout = { chunks: 100, packSize: 10, shardSize: 256, fanIn: 1000, packMs: 1 };
  await world.putState(run, { phase, layout });
};
const paused = async (world: CliWorld) => {
  await computing(world);
  await command(world.client, "r1", { kind: "pause" });
};
const scheduled = ({ client }: CliWorld) =>
  addSchedule(client, {
    ...{ name: "s1", cron: "0 2 * * *" },
    run: { calculation: "sum", params: { to: 100 } },
  });
const led = async ({ storage }: CliWorld) => {
  const lease = storage.lease(names.coordination, leaderBlob);
  await lease.ensure();
  await lease.acquire("00000000-0000-0000-0000-000000000002", 60);
};
const answered = async (world: CliWorld) => {
  await computing(world);
  const given = { text: "1", chunks: 100, covers: [{ from: 0, to: 10 }] };
  answeringWorker(world, (message) => putAnswer(world, message as Parameters<typeof putAnswer>[1], given));
};
const verified = async (world: CliWorld) => {
  await finishedRun(world);
  verifyingWorker(world);
};

const uploaded = async ({ storage }: CliWorld) => {
  await storage.blobs.ensureContainer("test-inputs");
  await storage.blobs.create("test-inputs", "a.csv", "id\n1\n");
};
const explained = "--source test-inputs/a.csv --query select/**/count(*)/**/from/**/data";

const lines: readonly Line[] = [
  { line: "plan sum --to 100", least: "read" },
  { line: `sql --explain ${explained}`, least: "read", before: uploaded, files: true },
  { line: "runs", least: "read", before: computing },
  { line: "costs", least: "read", before: computing },
  { line: "status r1", least: "read", before: computing },
  { line: "watch r1", least: "read", before: finished },
  { line: "failures r1", least: "read", before: computing },
  { line: "logs r1", least: "read", before: computing },
  { line: "result r1", least: "read", before: finished },
  { line: "report r1", least: "read", before: finished, files: true },
  { line: "leader", least: "read", before: led },
  { line: "workers", least: "read" },
  { line: "queues", least: "read" },
  { line: "queues peek packs", least: "read" },
  { line: "submit sum --to 100", least: "steer" },
  { line: "schedule list", least: "read", before: scheduled },
  { line: "schedule pause s1", least: "steer", before: scheduled },
  { line: "schedule trigger s1", least: "steer", before: scheduled },
  { line: "schedule delete s1", least: "steer", before: scheduled },
  { line: "upload a.csv", least: "steer", files: true },
  { line: "inputs", least: "read", before: uploaded },
  { line: "inputs a.csv --delete", least: "steer", before: uploaded },
  { line: "pause r1", least: "steer", before: computing },
  { line: "resume r1", least: "steer", before: paused },
  { line: "cap r1 7", least: "steer", before: computing },
  { line: "cancel r1", least: "steer", before: computing },
  { line: "retry r1", least: "steer", before: cancelled },
  { line: "delete r1 --yes", least: "steer", before: finished },
  { line: "verify r1", least: "steer", before: verified },
  { line: "result r1 --so-far", least: "steer", before: answered },
  { line: "leader break --yes", least: "app", before: led },
  {
    ...{ line: "queues clear packs-poison --yes", least: "app" },
    before: ({ storage }) => storage.queues.send(`${names.packs}-poison`, "x"),
  },
];

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-rights-"));
  await writeFile(join(folder, "a.csv"), "id\n1\n");
});
afterAll(() => rm(folder, { recursive: true }));

/** Runs a command as somebody, and returns what it asked of storage. */
async function asked({ line, before, files }: Line, who: Asker) {
  const [grants, operations] = [grantsOf(who), [] as (Operation & { allowed: boolean })[]];
  let granted: CliWorld["client"] | undefined;
  const world = await cliWorld({ connect: async () => granted as CliWorld["client"] });
  await before?.(world);
  const note = (operation: Operation, allowed: boolean) => operations.push({ ...operation, allowed });
  granted = world.clientOn(grantedStorage(world.storage, grants, note));
  const { exitCode } = await (files ? world.start(line, { folder }).ended : world.run(line));
  return { exitCode, operations };
}

/** An operator does not tidy up: answers stay until their run is deleted. */
const isTidying = ({ action, path }: Operation): boolean =>
  action === "blobs/delete" && path.includes("/answers/");
/** The exit code of a refused call (packages/cli/exitCodes.ts). */
const denied = 5;

test("every command that uses storage has its line here", () => {
  const given = new Set(lines.map(({ line }) => line.split(" ")[0]));
  // `new` and `check` use no storage; `doctor` is in doctorRights.test.ts.
  expect(commandNames.filter((name) => !given.has(name)).sort()).toEqual(["check", "doctor", "init", "new"]);
});

const order: readonly Asker[] = ["read", "steer", "app"];
const cases = lines.flatMap((one) => order.map((who) => ({ ...one, who })));

test.each(cases.filter(({ who }) => who !== "app"))("$line as $who: $least is needed", async (one) => {
  const { exitCode, operations } = await asked(one, one.who);
  const refused = operations.filter((operation) => !operation.allowed && !isTidying(operation));
  const enough = order.indexOf(one.who) >= order.indexOf(one.least);
  if (one.line !== "plan sum --to 100") expect(operations.length).toBeGreaterThan(0);
  if (enough) expect(refused).toEqual([]);
  else expect(refused).not.toEqual([]);
  expect(exitCode === denied, `exit code ${exitCode}`).toBe(!enough);
});

test("an operator has no right that none of the commands needs", async () => {
  for (const who of ["read", "steer"] as const) {
    const all: Operation[] = [];
    for (const one of lines) all.push(...(await asked(one, who)).operations);
    const grants = grantsOf(who);
    const unused = grants.filter((grant) => !all.some((operation) => allows([grant], operation)));
    expect(unused, who).toEqual([]);
  }
});

test("who steers can write no partial, result, state or lease, and deletes no single blob but inputs, and three containers", async () => {
  const grants = grantsOf("steer");
  const may = (action: string, place: string, path: string) => allows(grants, { action, place, path });
  const forged = [
    [names.runs, "r1/u/parts/00000/000000"],
    [names.runs, "r1/u/state.json"],
    [names.results, "r1/u/1/manifest.json"],
    [names.coordination, leaderBlob],
  ] as const;
  expect(forged.filter(([place, path]) => may("blobs/write", place, path))).toEqual([]);
  expect(forged.filter(([place, path]) => may("blobs/add/action", place, path))).toEqual([]);
  expect(may("blobs/add/action", names.runs, "r1/spec.json")).toBe(true);
  expect(may("blobs/write", names.runs, "r1/spec.json"), "the spec of another's run is replaced").toBe(false);
  for (const place of [names.runs, names.active, names.results])
    expect(may("blobs/delete", place, "r1/spec.json"), place).toBe(false);
  // No published role has the one right without the other, and no condition holds for a container.
  const whole = [names.active, names.inputs, names.runs, names.results, names.coordination].filter((place) =>
    may("containers/delete", place, ""),
  );
  expect(whole).toEqual([names.active, names.inputs, names.runs]);
  expect(may("messages/process/action", names.urgent, "")).toBe(false);
  expect(may("messages/add/action", names.packs, "")).toBe(false);
});
