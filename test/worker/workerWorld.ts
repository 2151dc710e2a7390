import { type AnyCalculation, defineCalculation } from "../../src/engine/calculation/contract.ts";
import { filesOver, noAccess } from "../../src/engine/calculation/files.ts";
import { runCompute, runFinish, runFold, runPlan, runStop } from "../../src/engine/calculation/runJob.ts";
import { decodeJson } from "../../src/engine/model/decode.ts";
import { limits } from "../../src/engine/model/limits.ts";
import type { LogEvent } from "../../src/engine/model/log.ts";
import { encodeMarker, type Marker } from "../../src/engine/model/marker.ts";
import { decodeMessage, encodeMessage, type WorkMessage } from "../../src/engine/model/message.ts";
import { namesOf } from "../../src/engine/model/names.ts";
import { manifestSchema, type Plan, planSchema, type Spec } from "../../src/engine/model/run.ts";
import { resultBlobs, runBlobs, specBlob } from "../../src/engine/model/runBlobs.ts";
import { documentHash } from "../../src/engine/model/storedSpec.ts";
import { memoryStorage } from "../../src/engine/storage/memory/memoryStorage.ts";
import { handlePoison, handleWork } from "../../src/engine/worker/handleWork.ts";
import type { Delivery, WorkerPorts } from "../../src/engine/worker/ports.ts";
import { processState } from "../../src/engine/worker/processState.ts";
import type { ComputeOutput, UserCode } from "../../src/engine/worker/threads/userCode.ts";
import { heartbeatProcess } from "../support/heartbeatProcess.ts";
import { marker, spec, specOf } from "../support/runFixtures.ts";
import { virtualWorld } from "../support/virtualClock.ts";

/** One worker on the in-memory storage, with run `r` of uid `u`; messages are handed to it as the host would. */
export async function workerWorld(userCode: UserCode, changed: Partial<WorkerPorts> = {}) {
  const world = virtualWorld();
  const clock = world.clock();
  const { random } = world;
  const storage = memoryStorage({ clock, random });
  const { blobs } = storage;
  const names = namesOf("w");
  for (const one of [names.active, names.runs, names.results, names.coordination])
    await blobs.ensureContainer(one);
  for (const queue of [names.packs, names.urgent]) await storage.queues.ensureQueue(queue);
  const log: LogEvent[] = [];
  const ports: WorkerPorts = {
    ...{ storage, names, clock, random, userCode, tree: limits, packLimitMs: 60_000, endRetryMs: 60_000 },
    log: (event) => void log.push(event),
    ...processState({ storage, names, clock, random }, heartbeatProcess()),
    versionOf: () => "code 1",
    foldBytesMax: limits.foldBytesMax,
    ...changed,
  };
  const delivery = (message: WorkMessage, more: Partial<Delivery> = {}): Delivery => ({
    ...{ queue: names.urgent, urgent: true, text: encodeMessage(message), attempt: 1 },
    ...more,
  });
  const bytesOf = async (container: string, name: string): Promise<Uint8Array> => {
    const found = await blobs.read(container, name);
    if (found.kind === "missing") throw new Error(`${name} is missing`);
    return found.body;
  };

  return {
    ...{ world, storage, names, ports, log, bytesOf },
    /** `r` is submitted: its spec and its marker. */
    async submit(more: Partial<Spec> = {}): Promise<void> {
      await blobs.create(names.runs, specBlob("r"), JSON.stringify(specOf({ ...spec, ...more })));
      await blobs.create(names.active, "r", "", { metadata: encodeMarker(marker) });
    },
    async mark(change: Partial<Marker>): Promise<void> {
      const found = await blobs.head(names.active, "r");
      const ifMatch = found.kind === "found" ? found.properties.etag : "";
      await blobs.setMetadata(names.active, "r", encodeMarker({ ...marker, ...change }), { ifMatch });
    },
    async unmark(): Promise<void> {
      await blobs.remove(names.active, "r");
    },
    work: (message: WorkMessage, more?: Partial<Delivery>) => handleWork(ports, delivery(message, more)),
    poison: (message: WorkMessage) => handlePoison(ports, delivery(message)),
    /** The visible messages of a queue. */
    messages: async (queue: "packs" | "urgent"): Promise<WorkMessage[]> =>
      (await storage.queues.peek(names[queue], 32)).map(({ text }) => decodeMessage(text)),
    /** Deliver all messages of `urgent` that are visible, as the host does: deleted unless the handler throws. */
    async host(): Promise<number> {
      const received = await storage.queues.receive(names.urgent, { max: 32, visibilityS: 600 });
      for (const { id, popReceipt, text, dequeueCount } of received) {
        await handleWork(ports, { queue: names.urgent, urgent: true, text, attempt: dequeueCount });
        await storage.queues.remove(names.urgent, id, popReceipt);
      }
      return received.length;
    },
    /** What the leader's messages name. */
    named: async () => ({
      code: "code 1",
      plan: documentHash(await bytesOf(names.runs, at.plan)),
    }),
    plan: async (): Promise<Plan> => decodeJson(planSchema, await bytesOf(names.runs, at.plan), "plan"),
    manifest: async (gen = 1) =>
      decodeJson(manifestSchema, await bytesOf(names.results, results.manifest(gen)), "manifest"),
    /** Names in a container, without the run's own beginning. */
    list: (container: "runs" | "results"): string[] =>
      storage.operator.blobNames(names[container]).map((name) => name.replace(at.root, "")),
  };
}

export type WorkerWorld = Awaited<ReturnType<typeof workerWorld>>;

export const at = runBlobs("r", "u");
export const results = resultBlobs("r", "u");
export const common = { v: 1, run: "r", uid: "u", gen: 1, send: 1, turn: 0 } as const;

/** A message that computes a pack of a plan. */
export function computeOf(plan: Plan, pack: number, gen = 1): WorkMessage {
  const from = pack * plan.packSize;
  const to = Math.min(from + plan.packSize, plan.chunks);
  return { ...common, gen, kind: "compute", shard: Math.floor(pack / plan.shardSize), pack, from, to };
}

/** User code that runs in this very process: nothing ends it, its time is always 1 ms, and pauses between attempts take none. */
export function inlineCode(calculation: AnyCalculation, pausesMs: number[] = []): UserCode {
  const sleep = async (ms: number): Promise<void> => void pausesMs.push(ms);
  return {
    hold: async () => () => {},
    async plan({ params }, sink, task) {
      await task.onStart?.();
      return runPlan(calculation, params, sink);
    },
    async compute(job, task) {
      await task.onStart?.();
      const files = filesOver({ ...noAccess, save: task.onSave });
      let failed: ComputeOutput["failed"];
      const onFailed = (chunks: ComputeOutput["failed"]): void => {
        failed = chunks;
      };
      const bytes = await runCompute(calculation, job, files, {
        onFailed,
        onKept: task.onKept,
        time: { sleep, spentMs: () => 0 },
      });
      return { bytes, ms: 1, ...(failed && { failed }) };
    },
    async fold(job, task) {
      await task.onStart?.();
      return { bytes: await runFold(calculation, job.params, job), ms: 1 };
    },
    async ask(job, task) {
      await task.onStart?.();
      return runStop(calculation, job);
    },
    async finish(job, task) {
      await task.onStart?.();
      return { ...(await runFinish(calculation, job)), ms: 1 };
    },
    async stop() {},
  };
}

/** Joins chunk indexes, so that order and completeness show; `pad` makes partials too large for metadata. */
export const joining: AnyCalculation = defineCalculation<
  { chunks: number; pad?: number },
  unknown,
  { readonly text: string; readonly pad: string }
>({
  name: "joining",
  summary: "",
  // biome-ignore lint/suspicious/noExplicitAny: parameters are not parsed here.
  params: undefined as any,
  plan: ({ chunks }) => chunks,
  compute: ({ index, params }) => ({ text: String(index), pad: "x".repeat(params.pad ?? 0) }),
  merge: (a, b) => ({ text: [a.text, b.text].filter((text) => text !== "").join(","), pad: a.pad }),
  zero: () => ({ text: "", pad: "" }),
  finish: ({ text }, { folded, count }) => ({ text, folded, count }),
});
