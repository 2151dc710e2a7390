import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../../src/engine/storage/system.ts";
import type { Cli } from "../cli.ts";
import { addWork } from "../commands/work.ts";
import { runCommand } from "../program.ts";
import { printed } from "./cliWorld.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-work-"));
  await writeFile(join(folder, "broken.mjs"), "throw new Error('not today')");
});
afterAll(() => rm(folder, { recursive: true }));

const env = { DataStorage: "UseDevelopmentStorage=true" };

async function run(line: string, change: Partial<Cli> = {}) {
  const [out, err] = [printed(), printed()];
  const never = () => Promise.reject(new Error("nothing is to be opened"));
  const cli: Cli = {
    ...{ env, folder, out, err, clock: systemClock, signal: new AbortController().signal },
    ...{ connect: never, calculations: never, instances: never, startThread: never },
    ...change,
  };
  const exitCode = await runCommand(line.split(" "), cli, [addWork]);
  return { exitCode, out: out.text(), err: err.text() };
}

test.each([
  ["work --threads 0", "invalid --threads: 0: must be from 1 to 256"],
  ["work --threads many", "invalid --threads: many: it must be a whole number"],
  ["work --idle 0s", "invalid --idle: 0s: it must be more than 0"],
  ["work --idle soon", "invalid --idle: soon: it must be a duration like 30s, 5m, 2h or 1d"],
  ["work --health 0", "invalid --health: 0: must be from 1 to 65535"],
  ["work --namespace Bad!", 'invalid --namespace: "Bad!"'],
  ["work --calculation nothing", 'there is no calculation "nothing"; there are primes'],
  ["work --calculation ./nothing.mjs", "there is no calculation file"],
  ["work --calculation ./broken.mjs", "broken.mjs does not load: not today"],
  ["work --calculation a,b.mjs", "a path must not contain a comma"],
  ["work --account A_", "must be 3 to 24 lower-case letters and digits"],
])("%s is refused before anything starts", async (line, why) => {
  const ended = await run(line);
  expect(ended).toMatchObject({ exitCode: 2, out: "" });
  expect(ended.err).toContain(why);
});

test("storage must be named, and must answer", async () => {
  expect(await run("work", { env: {} })).toMatchObject({
    exitCode: 2,
    err: expect.stringContaining("no storage is named"),
  });
});

test("the setting says what is computed where no option does", async () => {
  const ended = await run("work", { env: { ...env, LEASEFOLD_ONLY: "nothing" } });
  expect(ended).toMatchObject({ exitCode: 2, err: expect.stringContaining('no calculation "nothing"') });
});

test("a health port that is in use is named", async () => {
  const server = createServer();
  await new Promise<void>((ready) => server.listen(0, ready));
  const { port } = server.address() as { port: number };
  const ended = await run(`work --health ${port}`, { connect: async () => ({}) as never });
  server.close();
  expect(ended).toMatchObject({ exitCode: 2, out: "" });
  expect(ended.err).toContain(`invalid --health: ${port}: address already in use (EADDRINUSE)`);
});
