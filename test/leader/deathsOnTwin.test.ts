import { expect, test } from "vitest";
import { decodeToldFailure } from "../../src/engine/model/failureRecord.ts";
import { decodeMessage } from "../../src/engine/model/message.ts";
import { signBlob } from "../../src/engine/model/names.ts";
import { runBlobs } from "../../src/engine/model/runBlobs.ts";
import { encodeSign } from "../../src/engine/model/sign.ts";
import type { State } from "../../src/engine/model/state.ts";
import { computing, planOf } from "../support/runFixtures.ts";
import { leadOnTwin } from "./leadOnTwin.ts";

const work = { kind: "pack", shard: 0, pack: 3 } as const;
const startMs = Date.UTC(2030, 0, 1);
const files = runBlobs("r", "uidr");

/** A run of ten packs, of which the fourth is computed alone by a process that writes this sign no more. */
async function dying(alone: boolean) {
  const twin = leadOnTwin();
  const again: State["again"] = alone
    ? { 3: { sends: 2, atMs: startMs, lost: 0, since: 2, alone: true } }
    : {};
  const sent = { cursor: 10, inFlight: 10, open: { 0: { done: "" } }, again };
  await twin.addRun("r", planOf(10), { state: { ...computing(10), ...sent } });
  const { names, storage } = twin;
  const held = { run: "r", uid: "uidr", work, generation: 1, send: alone ? 2 : 1, begun: true, alone };
  const sign = { threads: 1, everyMs: 2_000, version: "1", codes: [], memoryMb: 1 };
  const metadata = encodeSign({ ...sign, works: [{ ...held, ageMs: 2_000 }] });
  await storage.blobs.create(names.coordination, signBlob("node-2", "b"), "", { metadata });
  const sends = async () =>
    (await storage.queues.peek(names.urgent, 32))
      .map(({ text }) => decodeMessage(text))
      .filter((message) => message.kind === "compute" && message.pack === 3);
  const records = () =>
    storage.operator.blobNames(names.runs).filter((name) => name.startsWith(files.failures));
  return { ...twin, sends, records };
}

test("a pack whose process tells nothing for three of its intervals is resent alone within a loop, without a record", async () => {
  const { lead, sends, records } = await dying(false);
  await lead(9_000, { loopMs: 1_000, fastLoopMs: 1_000 });
  expect(await sends()).toMatchObject([{ send: 2, alone: true, repeat: true }]);
  expect(records()).toEqual([]);
});

test("one that was alone in its process is recorded as its end, once, and replaced by what the list then shows", async () => {
  const { lead, sends, records, stateOf, storage, names } = await dying(true);
  await lead(22_000, { loopMs: 1_000, fastLoopMs: 1_000 });
  const name = files.failure(work, 1, 2);
  expect(records()).toEqual([name]);
  const found = await storage.blobs.read(names.runs, name);
  if (found.kind === "missing") throw new Error("no record");
  const message = expect.stringMatching(/^the process of node-2 ended .* no sign of life for 1[5-8] s$/);
  expect(decodeToldFailure(found.properties.metadata)).toMatchObject({ code: "process-ended", message });
  const stored = JSON.parse(Buffer.from(found.body).toString());
  expect(stored).toMatchObject({ cause: "poison", code: "process-ended", chunks: { from: 3, to: 4 } });
  expect(await sends()).toMatchObject([{ send: 3, alone: true, repeat: true }]);
  expect((await stateOf("r")).again[3]).toMatchObject({ sends: 3, since: 3, alone: true });
});

test("a record that a worker wrote meanwhile stands", async () => {
  const { lead, records, storage, names } = await dying(true);
  const name = files.failure(work, 1, 2);
  await storage.blobs.create(names.runs, name, "mine", {
    metadata: { cause: "error", code: "time-limit", message: "" },
  });
  await lead(22_000, { loopMs: 1_000, fastLoopMs: 1_000 });
  const found = await storage.blobs.read(names.runs, name);
  expect(found.kind === "found" && Buffer.from(found.body).toString()).toBe("mine");
  expect(records()).toEqual([name]);
});
