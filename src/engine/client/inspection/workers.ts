import * as z from "zod";
import { isUnreadable } from "../../model/errors.ts";
import { heartbeatBlobs, parseHeartbeatBlob } from "../../model/names.ts";
import { rangeSchema } from "../../model/run.ts";
import type { Work } from "../../model/runBlobs.ts";
import { decodeHeartbeat, isLive, type WorkerHeartbeat } from "../../model/workerHeartbeat.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import { type Client, defined } from "../client.ts";
import { blobPages } from "../containersAndQueues.ts";
import { count, generation, list, runKey, seconds, text } from "../viewSchemas.ts";

const workAtHandSchema = z
  .object({
    ...runKey,
    work: text.describe("`pack 17`, `plan`, `combine shard 3`, `combine node 5 of level 2` or `finish`."),
    generation,
    send: z.int().positive(),
    isolated: z.boolean(),
    forS: seconds.describe(
      "Since a thread took it, or since it was delivered; of a process that is not live, until its last heartbeat.",
    ),
    pack: count.exactOptional(),
    chunks: rangeSchema.exactOptional(),
    chunk: count.describe("The one that is computed.").exactOptional(),
  })
  .meta({ id: "WorkAtHand" });
export type WorkAtHand = z.infer<typeof workAtHandSchema>;

const workerSchema = z
  .object({
    instance: text,
    boot: text.describe("Tells processes of one instance apart."),
    state: z.enum(["live", "silent", "ended"]),
    version: text,
    threads: count,
    memoryMb: z.number(),
    codes: list(text),
    heartbeatAgeS: seconds.describe("By storage's time."),
    ended: text
      .describe("By which signal or exit code, or why; told by a supervisor that saw it.")
      .exactOptional(),
    computes: list(workAtHandSchema),
    holds: list(workAtHandSchema).describe("Taken, and waiting for a thread."),
  })
  .meta({ id: "Worker" });
export type Worker = z.infer<typeof workerSchema>;

export const workersSchema = z
  .object({
    workers: list(workerSchema),
    runs: list(z.object({ ...runKey, instances: count, threads: count })),
    unreadable: list(z.object({ blob: text, reason: text })).describe("Heartbeats that do not decode."),
  })
  .describe(
    "What processes tell of their work by their heartbeats, and how many compute each run. Short work leaves no heartbeat, and neither does an idle process, so not every instance is here.",
  )
  .meta({ id: "Workers" });
export type Workers = z.infer<typeof workersSchema>;

/** One list call for up to 5,000 processes. */
export async function workers(client: Client): Promise<Workers> {
  const found: Worker[] = [];
  const unreadable: Workers["unreadable"][number][] = [];
  const { coordination } = client.names;
  for await (const { blobs, dateMs } of blobPages(client, coordination, heartbeatBlobs, { metadata: true }))
    for (const blob of blobs) {
      try {
        found.push(workerOf(blob, decodeHeartbeat(blob.metadata, blob.name), dateMs));
      } catch (error) {
        if (!isUnreadable(error)) throw error;
        unreadable.push({ blob: blob.name, reason: error.message });
      }
    }
  found.sort((a, b) => byName.compare(a.instance, b.instance) || a.heartbeatAgeS - b.heartbeatAgeS);
  return { workers: found, runs: runsOf(found), unreadable };
}

const byName = new Intl.Collator("en", { numeric: true });

function workerOf({ name, lastModifiedMs }: ListedBlob, heartbeat: WorkerHeartbeat, nowMs: number): Worker {
  const { threads, version, codes, memoryMb, ended } = heartbeat;
  const { instance, boot } = parseHeartbeatBlob(name);
  const sinceMs = Math.max(0, nowMs - lastModifiedMs);
  const live = isLive(heartbeat, lastModifiedMs, nowMs);
  const state = live ? "live" : ended === undefined ? "silent" : "ended";
  const works = heartbeat.works.map((one) => ({
    begun: one.begun,
    run: one.run,
    uid: one.uid,
    work: wordsOf(one.work),
    generation: one.generation,
    send: one.send,
    isolated: one.isolated,
    forS: (one.ageMs + (live ? sinceMs : 0)) / 1_000,
    ...defined({
      pack: one.work.kind === "pack" ? one.work.pack : undefined,
      chunks: one.chunks,
      chunk: one.chunk,
    }),
  }));
  const of = (begun: boolean) =>
    works.filter((one) => one.begun === begun).map(({ begun: _, ...one }) => one);
  return {
    instance,
    boot,
    state,
    version,
    threads,
    memoryMb,
    codes,
    heartbeatAgeS: sinceMs / 1_000,
    ...defined({ ended }),
    computes: of(true),
    holds: of(false),
  };
}

function wordsOf(work: Work): string {
  if (work.kind === "pack") return `pack ${work.pack}`;
  if (work.kind !== "node") return work.kind;
  return work.level === 1
    ? `combine shard ${work.index}`
    : `combine node ${work.index} of level ${work.level}`;
}

/** How many live processes and threads compute each run. */
function runsOf(found: readonly Worker[]) {
  const runs = new Map<string, { run: string; uid: string; instances: number; threads: number }>();
  for (const { state, computes } of found) {
    const own = new Set<string>();
    for (const { run, uid } of state === "live" ? computes : []) {
      const counted = runs.get(uid) ?? { run, uid, instances: 0, threads: 0 };
      counted.threads += 1;
      if (!own.has(uid)) counted.instances += 1;
      own.add(uid);
      runs.set(uid, counted);
    }
  }
  return [...runs.values()];
}
