import { hash } from "node:crypto";
import pMap from "p-map";
import type { CoveringPart } from "../../calculation/foldParts.ts";
import { limits } from "../../model/limits.ts";
import type { MessageOf } from "../../model/message.ts";
import { type FoldFacts, planTag } from "../../model/output.ts";
import { resultBlobs } from "../../model/runBlobs.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import { StorageLostError, type WorkerPorts } from "../ports.ts";
import type { CalculationTask, TaskOptions } from "../threads/userCode.ts";
import type { FoundOutput } from "./outputs.ts";

/** Bytes of a SHA-256. */
const hashBytes = 32;

interface Fold<Output extends FoundOutput> {
  readonly task: CalculationTask;
  /** The first chunk that is folded, or a gap. */
  readonly from: number;
  readonly options: TaskOptions;
  /** Identity of the code that folds, where it counts. */
  readonly code?: string;
  /** The SHA-256 of each partial is kept, in order; zeros for one with gaps. */
  readonly keepHashes?: boolean;
  /** An output that is gone by now is left out; otherwise it fails the whole. */
  readonly leaveOutGone?: boolean;
  /** Called with each output that is folded, in order. */
  readonly onRead?: (output: Output) => void;
}

/**
 * Reads outputs in the order given and folds them as far as needed to hold at most `foldBytesMax` at once. The caller
 * folds the `parts` that are left under the `options` that are left, since one attempt has one time limit: all parts if
 * they are small, else what was folded so far and the last batch. An output in which nothing is folded has no part.
 *
 * Not promised: the limit where one more partial exceeds it together with the spans that are not whole yet, because each
 * fold must make progress.
 */
export async function foldBounded<Output extends FoundOutput>(
  ports: WorkerPorts,
  fold: Fold<Output>,
  outputs: Iterable<Output> | AsyncIterable<Output>,
) {
  const code = new Set(fold.code === undefined ? [] : [fold.code]);
  const hashes: Uint8Array[] = [];
  let [folded, attempts, heldBytes, ms] = [0, 0, 0, 0];
  let parts: CoveringPart[] = [];
  let batch: { readonly blob: ListedBlob; take(bytes: Uint8Array | undefined): void }[] = [];
  const options = (): TaskOptions => ({
    ...fold.options,
    limitMs: Math.max(fold.options.limitMs - ms, 1),
  });

  function add(output: Output, bytes: Uint8Array | undefined): void {
    if (bytes === undefined) {
      if (fold.leaveOutGone) return;
      throw new StorageLostError("storage-lost", `${output.blob.name} is gone`);
    }
    if (output.facts.folded > 0) parts.push({ ...output.cover, bytes });
    folded += output.facts.folded;
    attempts += output.facts.attempts;
    for (const one of output.facts.code) code.add(one);
    // No attempt gives a partial with gaps again, so nobody verifies it.
    const isWhole = output.facts.members === undefined;
    if (fold.keepHashes) hashes.push(isWhole ? hash("sha256", bytes, "buffer") : new Uint8Array(hashBytes));
    fold.onRead?.(output);
  }

  async function readBatch(): Promise<void> {
    const concurrency = limits.readsAtOnce;
    const read = await pMap(batch, ({ blob }) => readOne(ports, blob), { concurrency });
    for (const [index, { take }] of batch.entries()) take(read[index]);
    batch = [];
    heldBytes = parts.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  async function foldParts(): Promise<void> {
    const cover = { from: fold.from, to: parts.at(-1)?.to ?? fold.from };
    const done = await ports.userCode.fold({ ...fold.task, ...cover, parts }, options());
    ms += done.ms;
    parts = [{ ...cover, bytes: done.bytes }];
    heldBytes = done.bytes.length;
  }

  /** Reads a blob with the next batch. */
  async function hold(blob: ListedBlob, take: (bytes: Uint8Array | undefined) => void): Promise<void> {
    const isTooMuch = (): boolean => heldBytes + blob.bytes > ports.foldBytesMax;
    if (parts.length + batch.length >= 2 && isTooMuch()) {
      await readBatch();
      if (parts.length >= 2 && isTooMuch()) await foldParts();
    }
    batch.push({ blob, take });
    heldBytes += blob.bytes;
  }

  for await (const output of outputs) {
    await hold(output.blob, (bytes) => add(output, bytes));
  }
  await readBatch();
  const facts: FoldFacts = { folded, attempts, code: [...code].sort() };
  return { parts, ms, options: options(), facts, hashes };
}

/** The bytes of an output, undefined where it is definitely gone. */
async function readOne(ports: WorkerPorts, blob: ListedBlob): Promise<Uint8Array | undefined> {
  if (blob.metadata["inline"] === "1") return Buffer.from(blob.metadata["data"] ?? "", "base64url");
  const found = await ports.storage.blobs.read(ports.names.runs, blob.name);
  return found.kind === "found" ? found.body : undefined;
}

/**
 * Stores the SHA-256 of every folded pack of a shard, 32 bytes each in index order, so that a result can be verified
 * after clean-up. If some packs are not folded, the metadata say which ones are. Those of another plan, which was lost,
 * are replaced.
 */
export async function writeHashes(
  ports: WorkerPorts,
  { run, uid, gen, members, plan }: MessageOf<"combine" | "finish">,
  shard: number,
  hashes: readonly Uint8Array[],
): Promise<void> {
  const { blobs } = ports.storage;
  const at = [ports.names.results, resultBlobs(run, uid).hashes(gen, shard)] as const;
  const tag = plan && planTag(plan);
  const metadata = { ...(members && { members }), ...(tag && { plan: tag }) };
  const write = { contentType: "application/octet-stream", metadata };
  const body = Buffer.concat(hashes);
  if ((await blobs.create(...at, body, write)).kind === "created" || tag === undefined) return;
  const there = await blobs.head(...at);
  if (there.kind === "missing") return;
  const { etag, metadata: before } = there.properties;
  if ((before["plan"] ?? tag) !== tag) await blobs.replace(...at, body, { ...write, ifMatch: etag });
}
