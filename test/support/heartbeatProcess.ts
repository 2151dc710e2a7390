import type { Client } from "../../src/engine/client/client.ts";
import { heartbeatBlob, heartbeatBlobs } from "../../src/engine/model/names.ts";
import { encodeHeartbeat, type WorkerHeartbeat } from "../../src/engine/model/workerHeartbeat.ts";
import type { HeartbeatProcess } from "../../src/engine/worker/heartbeats.ts";

/** What the heartbeat of a test's process says of it. */
export const heartbeatProcess = (instance = "one", threads = 2): HeartbeatProcess => ({
  ...{ instance, threads, version: "1.2.3", codes: [] },
  memoryMb: () => 100,
});

/** A piece of work of a heartbeat: a pack of ten chunks that a thread began two seconds before the heartbeat was written. */
export const heartbeatWork = (
  pack: number,
  more: Partial<WorkerHeartbeat["works"][number]> = {},
): WorkerHeartbeat["works"][number] => ({
  ...{ run: "r1", uid: "u1", work: { kind: "pack", shard: 0, pack }, generation: 1, send: 1 },
  ...{ ageMs: 2_000, begun: true, isolated: false, chunks: { from: pack * 10, to: pack * 10 + 10 }, ...more },
});

/** Writes the heartbeat of a process, as it or its supervisor would. */
export async function putHeartbeat(
  { storage: { blobs }, names }: Pick<Client, "storage" | "names">,
  name: string,
  heartbeat: Partial<WorkerHeartbeat> = {},
): Promise<void> {
  const plain = { ...{ threads: 2, everyMs: 2_000, version: "1.2.3", codes: [], memoryMb: 100 }, works: [] };
  const metadata = encodeHeartbeat({ ...plain, ...heartbeat });
  const blob = name.includes(".") ? `${heartbeatBlobs}${name}` : heartbeatBlob(name, "a1b2c3d4");
  await blobs.create(names.coordination, blob, "", { metadata });
}
