import { limits } from "../../../src/engine/model/limits.ts";
import { decodeMessage, type WorkMessage } from "../../../src/engine/model/message.ts";
import type { Names } from "../../../src/engine/model/names.ts";
import { outputContentType, planTag } from "../../../src/engine/model/output.ts";
import { shardOf, shardSizeFor } from "../../../src/engine/model/packs.ts";
import type { Manifest, Plan } from "../../../src/engine/model/run.ts";
import { lastNumberOf, resultBlobs, runBlobs } from "../../../src/engine/model/runBlobs.ts";
import type { Clock, ListedBlob, ListOptions, ListPage, Storage } from "../../../src/engine/storage/ports.ts";
import type { QueueMessage } from "../../../src/engine/storage/queuePort.ts";

/**
 * A run whose packs end nearly in the order in which they were sent, at a steady rate, and which takes no memory:
 * what a list of partials holds is worked out when it is asked for, messages of work are understood and forgotten.
 * So a leader can be watched over a million packs by itself. Everything else is the in-memory storage's.
 */
export interface OrderlyRun {
  readonly id: string;
  readonly uid: string;
  readonly packs: number;
  readonly packMs: number;
  /** Packs that end per second. */
  readonly perS: number;
}

export function withOrderlyRun(near: Storage, names: Names, clock: Clock, run: OrderlyRun): Storage {
  const at = runBlobs(run.id, run.uid);
  const shardSize = shardSizeFor(run.packs);
  const layout = { chunks: run.packs, packSize: 1, shardSize, fanIn: limits.fanIn };
  const nodesMs = new Map<string, number>();
  let sent = 0;
  let startMs = 0;
  /** Messages of packs that no worker has taken yet, oldest first. */
  let waiting: (QueueMessage & { readonly queue: string; readonly pack: number })[] = [];

  const beginsMs = (pack: number): number => startMs + (pack * 1_000) / run.perS;
  const doneMs = (pack: number): number => beginsMs(pack) + run.packMs * (1 + unevenness(pack));
  const put = (container: string, name: string, document: Plan | Manifest): void =>
    void clock.after(taskMs, () => void near.blobs.create(container, name, JSON.stringify(document)));

  function take(message: WorkMessage, queue: string, text: string): void {
    if (message.kind === "plan") put(names.runs, at.plan, planOf(run, shardSize, message.spec));
    if (message.kind === "finish")
      put(names.results, resultBlobs(run.id, run.uid).manifest(message.gen), manifestOf(run, message));
    if (message.kind === "combine") {
      nodesMs.set(at.node(message.gen, message.level, message.index), clock.monotonicMs() + taskMs);
    }
    if (message.kind !== "compute") return;
    if (sent === 0) startMs = clock.monotonicMs();
    const { pack } = message;
    waiting.push({ queue, pack, id: `${pack}`, text, dequeueCount: 0, insertedMs: clock.wallMs() });
    sent = Math.max(sent, message.pack + 1);
  }

  function listParts(prefix: string, options: ListOptions): readonly string[] {
    const { from, to } = packsUnder(prefix.slice(at.partsOf(0).length - 6), shardSize);
    const first = options.cursor === undefined ? from : lastNumberOf(options.cursor);
    const listed: string[] = [];
    for (let pack = first; pack < Math.min(to, sent) && listed.length <= pageMax; pack += 1) {
      if (doneMs(pack) <= clock.monotonicMs()) listed.push(at.part(shardOf(layout, pack), pack));
    }
    return listed;
  }

  /** What messages name, and outputs repeat. */
  let planned: Pick<WorkMessage, "plan" | "code"> = {};
  const nodesThere = (prefix: string): string[] =>
    [...nodesMs].flatMap(([name, ms]) =>
      name.startsWith(prefix) && ms <= clock.monotonicMs() ? [name] : [],
    );
  const blobOf = (name: string): ListedBlob => ({
    name,
    ...{ etag: "0x1", lastModifiedMs: clock.wallMs(), bytes: 16, metadata: {} },
    contentType: outputContentType("application/octet-stream", {
      ms: run.packMs,
      attempt: 1,
      plan: planned.plan === undefined ? undefined : planTag(planned.plan),
      code: planned.code,
    }),
  });

  return {
    ...near,
    queues: {
      ...near.queues,
      async send(queue, text, options) {
        if (queue === names.wake) return near.queues.send(queue, text, options);
        const message = decodeMessage(text);
        if (message.run !== run.id) return near.queues.send(queue, text, options);
        near.meter.count("queue");
        planned = message;
        take(message, queue, text);
        return { id: "-", popReceipt: "-", dateMs: clock.wallMs() };
      },
      async peek(queue, max, options) {
        waiting = waiting.filter(({ pack }) => beginsMs(pack) > clock.monotonicMs());
        const others = await near.queues.peek(queue, max, options);
        return [...others, ...waiting.filter((one) => one.queue === queue)].slice(0, max);
      },
    },
    blobs: {
      ...near.blobs,
      async list(container, prefix, options = {}): Promise<ListPage> {
        const dateMs = clock.wallMs();
        const isParts = prefix.startsWith(`${at.root}parts/`);
        if (!isParts && !prefix.startsWith(at.nodes)) return near.blobs.list(container, prefix, options);
        near.meter.count("list");
        const found = isParts ? listParts(prefix, options) : nodesThere(prefix).sort();
        const next = found[pageMax];
        const blobs = found.slice(0, pageMax).map(blobOf);
        return next === undefined ? { blobs, dateMs } : { blobs, dateMs, cursor: next };
      },
      async head(container, name, options) {
        if (!name.startsWith(at.nodes)) return near.blobs.head(container, name, options);
        near.meter.count("other");
        const [there] = nodesThere(name);
        if (there === undefined) return { kind: "missing" };
        return { kind: "found", dateMs: clock.wallMs(), properties: blobOf(name) };
      },
    },
  };
}

/** What a worker takes for a plan, a combine or a finish. */
const taskMs = 500;
const pageMax = 5_000;

/** Packs whose names begin so: `00012/` is one shard, `0001` the ten from 10 on. */
function packsUnder(text: string, shardSize: number): { readonly from: number; readonly to: number } {
  const digits = text.replace("/", "");
  const width = 10 ** (5 - digits.length);
  const shard = Number(digits) * width;
  return { from: shard * shardSize, to: (shard + width) * shardSize };
}

/** In [0, 1), the same for the same pack: neighbours overtake one another as packs of uneven length do. */
const unevenness = (pack: number): number => ((Math.imul(pack, 2_654_435_761) >>> 8) & 0xffff) / 0x1_0000;

const planOf = ({ id, uid, packs, packMs }: OrderlyRun, shardSize: number, spec = ""): Plan => ({
  ...{
    v: 1,
    run: id,
    uid,
    code: "test",
    spec,
    chunks: packs,
    packSize: 1,
    shardSize,
    fanIn: limits.fanIn,
    packMs,
  },
});

const manifestOf = (
  { id, uid, packs }: OrderlyRun,
  { spec = "", plan = "" }: Pick<WorkMessage, "spec" | "plan">,
): Manifest => ({
  ...{
    v: 1,
    run: id,
    uid,
    generation: 1,
    calculation: "orderly",
    requestHash: "h",
    spec,
    plan,
    attempt: "1-1-a",
    blob: "r/u/001/1-1-a/result.json",
  },
  ...{ contentType: "application/json", bytes: 1, sha256: "00", chunks: packs, folded: packs, packs },
  ...{ complete: true, missing: [], code: [], attempts: packs, terms: [] },
});
