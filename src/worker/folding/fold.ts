import { limits } from "../../model/limits.ts";
import type { FoldFacts } from "../../model/output.ts";
import { resultBlobs } from "../../model/runBlobs.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import { StorageLostError, type WorkerPorts } from "../ports.ts";
import type { CalculationJob, TaskOptions } from "../threads/userCode.ts";
import type { FoundOutput } from "./outputs.ts";

/**
 * Reads outputs in the order given and folds them as far as needed to hold no more than `foldBytesMax` at once.
 * What it gives back is to be folded by the caller, in order: everything, where it is small; else what was folded
 * so far, then the last batch. Because each fold begins with what was folded before, the result is the very same
 * as that of one fold of all.
 *
 * Not promised: the limit where two partials alone exceed it; some progress must be possible.
 */
export async function foldBounded<Output extends FoundOutput>(
  ports: WorkerPorts,
  job: CalculationJob,
  outputs: Iterable<Output> | AsyncIterable<Output>,
  how: {
    readonly task: TaskOptions;
    /** An output that is gone by now fails the whole, or is left out. */
    readonly gone: "fails" | "left-out";
    /** Told of each output whose bytes are folded, in order. */
    readonly onRead: (output: Output, bytes: Uint8Array) => void;
  },
): Promise<{ readonly parts: readonly Uint8Array[]; readonly ms: number; readonly task: TaskOptions }> {
  let parts: Uint8Array[] = [];
  let batch: Output[] = [];
  let heldBytes = 0;
  let ms = 0;
  // One attempt has one time limit, however many folds it takes.
  const task = (): TaskOptions => ({ ...how.task, limitMs: Math.max(how.task.limitMs - ms, 1) });

  const readBatch = async (): Promise<void> => {
    const read = await readAll(ports, batch);
    for (const [place, output] of batch.entries()) {
      const bytes = read[place];
      if (bytes !== undefined) {
        how.onRead(output, bytes);
        parts.push(bytes);
      } else if (how.gone === "fails") {
        throw new StorageLostError("storage-lost", `${output.blob.name} is gone`);
      }
    }
    batch = [];
  };

  for await (const output of outputs) {
    const { bytes } = output.blob;
    if (parts.length + batch.length >= 2 && heldBytes + bytes > ports.foldBytesMax) {
      await readBatch();
      const folded = await ports.userCode.fold({ ...job, parts }, task());
      ms += folded.ms;
      parts = [folded.bytes];
      heldBytes = folded.bytes.length;
    }
    batch.push(output);
    heldBytes += bytes;
  }
  await readBatch();
  return { parts, ms, task: task() };
}

/** The bytes of each, undefined where it is definitely gone. */
async function readAll(
  ports: WorkerPorts,
  outputs: readonly FoundOutput[],
): Promise<(Uint8Array | undefined)[]> {
  const bytes = new Array<Uint8Array | undefined>(outputs.length);
  const rest = outputs.entries();
  const readSome = async (): Promise<void> => {
    for (const [place, { blob }] of rest) bytes[place] = await readOne(ports, blob);
  };
  await Promise.all(Array.from({ length: limits.readsAtOnce }, readSome));
  return bytes;
}

async function readOne(ports: WorkerPorts, blob: ListedBlob): Promise<Uint8Array | undefined> {
  if (blob.metadata["inline"] === "1") return Buffer.from(blob.metadata["data"] ?? "", "base64url");
  const found = await ports.storage.blobs.read(ports.names.runs, blob.name);
  return found.kind === "found" ? found.body : undefined;
}

/** Sums up what was folded; `by`: the code that folds. */
export interface FoldTally {
  add(output: FoundOutput): void;
  facts(): FoldFacts;
}

export function foldTally(by: readonly string[] = []): FoldTally {
  const code = new Set<string>(by);
  let folded = 0;
  let attempts = 0;
  return {
    add({ facts }) {
      folded += facts.folded;
      attempts += facts.attempts;
      for (const one of facts.code) code.add(one);
    },
    facts: () => ({ folded, attempts, code: [...code].sort() }),
  };
}

/**
 * Keeps the SHA-256 of every folded pack of a shard, 32 bytes each in index order, so that a result can be verified
 * after clean-up. The metadata say which packs those are, where not all.
 */
export async function writeHashes(
  ports: WorkerPorts,
  message: {
    readonly run: string;
    readonly uid: string;
    readonly gen: number;
    readonly members?: string | undefined;
  },
  shard: number,
  hashes: readonly Uint8Array[],
): Promise<void> {
  const name = resultBlobs(message.run, message.uid).hashes(message.gen, shard);
  await ports.storage.blobs.create(ports.names.results, name, Buffer.concat(hashes), {
    contentType: "application/octet-stream",
    metadata: message.members === undefined ? {} : { members: message.members },
  });
}
