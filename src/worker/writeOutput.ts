import { limits } from "../model/limits.ts";
import { type OutputFacts, outputContentType } from "../model/output.ts";
import { persist } from "./persist.ts";
import type { WorkerPorts } from "./ports.ts";

export interface Output extends Omit<OutputFacts, "calls"> {
  readonly bytes: Uint8Array;
  /** More of what the blob's metadata tell. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Writes one partial or node, create-only. Small ones also ride in the metadata, which a list returns. */
export async function writeOutput(
  ports: WorkerPorts,
  name: string,
  { bytes, metadata, ...facts }: Output,
): Promise<"created" | "existed"> {
  const inline = bytes.length <= limits.inlineBytesMax;
  const data: Record<string, string> =
    inline && bytes.length > 0 ? { data: Buffer.from(bytes).toString("base64url") } : {};
  const write = {
    contentType: outputContentType("application/octet-stream", { ...facts, calls: ports.report.take() }),
    metadata: { ...metadata, ...data, inline: inline ? "1" : "0" },
  };
  const written = await persist(ports, () =>
    ports.storage.blobs.create(ports.names.runs, name, bytes, write),
  );
  return written.kind;
}
