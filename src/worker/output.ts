import { limits } from "../model/limits.ts";
import { lastNumberOf } from "../model/names.ts";
import { outputContentType } from "../model/output.ts";
import type { ListedBlob } from "../storage/ports.ts";
import { StorageLostError, type WorkerPorts } from "./ports.ts";

/** Writing partials and nodes, and reading many of them back with as few calls as their size allows. */

export interface Output {
  readonly bytes: Uint8Array;
  readonly ms: number;
  readonly attempt: number;
  /** Shown in the blob's metadata. */
  readonly facts?: Readonly<Record<string, string>>;
}

/** Writes one partial or node, create-only. Small ones also ride in the metadata, which a list returns. */
export async function writeOutput(
  ports: WorkerPorts,
  name: string,
  output: Output,
): Promise<"created" | "existed"> {
  const { bytes, ms, attempt, facts } = output;
  const inline: Record<string, string> =
    bytes.length <= limits.inlineBytesMax ? { data: Buffer.from(bytes).toString("base64url") } : {};
  const written = await ports.storage.blobs.create(ports.names.runs, name, bytes, {
    contentType: outputContentType("application/octet-stream", { ms, attempt, calls: ports.report.take() }),
    metadata: { ...facts, ...inline, inline: "data" in inline ? "1" : "0" },
  });
  return written.kind;
}

/** An output that was read: its bytes and its metadata. */
export interface ReadOutput {
  readonly bytes: Uint8Array;
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * Reads the outputs under a prefix whose number is wanted, in the order of `wanted`. Throws `StorageLostError` if
 * one of them is definitely not there.
 */
export async function readOutputs(
  ports: WorkerPorts,
  prefix: string,
  wanted: readonly number[],
): Promise<ReadOutput[]> {
  const listed = new Map<number, ListedBlob>();
  let cursor: string | undefined;
  do {
    const page = await ports.storage.blobs.list(ports.names.runs, prefix, { metadata: true, cursor });
    for (const blob of page.blobs) listed.set(lastNumberOf(blob.name), blob);
    cursor = page.cursor;
  } while (cursor !== undefined);

  const outputs = new Array<ReadOutput>(wanted.length);
  let next = 0;
  const readSome = async (): Promise<void> => {
    for (let at = next++; at < wanted.length; at = next++) {
      outputs[at] = await readOne(ports, prefix, wanted[at] as number, listed.get(wanted[at] as number));
    }
  };
  await Promise.all(Array.from({ length: limits.readsAtOnce }, readSome));
  return outputs;
}

async function readOne(
  ports: WorkerPorts,
  prefix: string,
  number: number,
  blob: ListedBlob | undefined,
): Promise<ReadOutput> {
  if (blob === undefined) throw new StorageLostError("storage-lost", `${prefix} has no output ${number}`);
  if (blob.metadata["inline"] === "1") {
    return { bytes: Buffer.from(blob.metadata["data"] ?? "", "base64url"), metadata: blob.metadata };
  }
  const found = await ports.storage.blobs.read(ports.names.runs, blob.name);
  if (found.kind === "missing") throw new StorageLostError("storage-lost", `${blob.name} is gone`);
  return { bytes: found.body, metadata: blob.metadata };
}
