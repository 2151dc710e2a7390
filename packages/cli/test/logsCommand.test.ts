import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { submit } from "../../../src/engine/client/submit.ts";
import { encodePrinted } from "../../../src/engine/model/printed.ts";
import { runBlobs } from "../../../src/engine/model/runBlobs.ts";
import { counted, names } from "../../../test/client/clientWorld.ts";
import { localFilePath, logFileOf } from "../local/localFile.ts";
import { writePrivate } from "../local/privateFile.ts";
import { cliWorld } from "./cliWorld.ts";

async function printed() {
  const world = await cliWorld();
  const run = await submit(world.client, { calculation: "sum", params: { to: 100 }, id: "r" });
  await world.putState(run, { ...counted, phase: "computing" });
  const put = async (pack: number, atMs: number, text: string, more = 0) => {
    const { body, metadata } = encodePrinted({
      ...{ generation: 1, instance: "node-2", more },
      lines: [{ atMs, level: "error", chunk: 2 * pack, text }],
    });
    const at = runBlobs("r", run.uid).printedOf({ kind: "pack", shard: 0, pack });
    await world.storage.blobs.create(names.runs, `${at}1-1-${pack}`, body, { metadata });
  };
  return { ...world, put, runKey: run };
}

test("lines are shown in the order of their times, with chunk and instance, and cannot forge others", async () => {
  const { put, run } = await printed();
  await put(1, 2_000, "second\u001b[31m\nforged");
  await put(0, 1_000, "first", 3);
  const { out, err, exitCode } = await run("logs r");
  expect(exitCode).toBe(0);
  expect(out.trimEnd().split("\n")).toEqual([
    "00:00:01.000 node-2 chunk 0  first",
    expect.stringMatching(/^00:00:02\.000 node-2 chunk 2 {2}second\S* ?.*forged$/),
  ]);
  expect(out).not.toContain("\u001b[31m");
  expect(err).toContain("3 lines more, not kept");
  expect((await run("logs r --max 1")).err).toContain("4 lines more; --max shows up to what was kept");
});

test("of one chunk only its lines are shown, and one that the run does not have is refused", async () => {
  const { put, run } = await printed();
  await put(0, 1_000, "first");
  await put(1, 2_000, "second");
  expect(JSON.parse((await run("logs r --chunk 2 --json")).out).lines).toMatchObject([{ text: "second" }]);
  expect(await run("logs r --chunk 10")).toMatchObject({ exitCode: 2 });
  expect((await run("logs r --chunk 1")).err).toContain("nothing was printed");
});

test("followed, each line is shown once, until the run has ended", async () => {
  const { put, start, world, putState, storage, runKey } = await printed();
  await put(0, 1_000, "first");
  const { ended } = start("logs r --follow");
  await world.advance(2_500);
  await put(1, 2_000, "second");
  await world.advance(2_000);
  await putState(runKey, { ...counted, phase: "failed", finishedMs: 1 });
  storage.operator.deleteBlob(names.active, "r");
  const { out } = await world.finish(ended);
  expect(out.match(/first|second/g)).toEqual(["first", "second"]);
});

test("of the instances there is a log only where they were started in the background", async () => {
  const folder = await mkdtemp(join(tmpdir(), "leasefold-logs-"));
  const env = { XDG_RUNTIME_DIR: folder };
  const { start } = await cliWorld({ env });
  // The clock of this world knows nothing of files.
  const run = (line: string) => start(line, { folder }).ended;
  expect((await run("logs --instances")).err).toContain("no instances were started here by up --detach");
  await writePrivate(logFileOf(await localFilePath(env, folder)), "one\ntwo\nthree\n");
  expect((await run("logs --instances --max 2")).out).toBe("two\nthree\n");
  for (const line of ["logs", "logs r --instances"])
    expect((await run(line)).err).toContain("either the id of a run or --instances");
  await rm(folder, { recursive: true });
});
