import { accepts, type WantedCode } from "../../model/identity.ts";
import { limits } from "../../model/limits.ts";
import { type OutputFacts, outputContentType, parseOutputFacts } from "../../model/output.ts";
import { persist } from "../attempt/persist.ts";
import type { WorkerPorts } from "../ports.ts";

export interface Output extends Omit<OutputFacts, "calls"> {
  readonly bytes: Uint8Array;
  /** More of what the blob's metadata tell. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/**
 * Writes one partial or node, create-only. Small ones also ride in the metadata, which a list returns. One of other code
 * that stands there counts as missing for every fold, and is replaced.
 */
export async function writeOutput(
  ports: WorkerPorts,
  name: string,
  { bytes, metadata, ...facts }: Output,
  wanted: WantedCode = {},
): Promise<"created" | "existed" | "replaced"> {
  const inline = bytes.length <= limits.inlineBytesMax;
  const data: Record<string, string> =
    inline && bytes.length > 0 ? { data: Buffer.from(bytes).toString("base64url") } : {};
  const write = {
    contentType: outputContentType("application/octet-stream", { ...facts, calls: ports.report.take() }),
    metadata: { ...metadata, ...data, inline: inline ? "1" : "0" },
  };
  const { blobs } = ports.storage;
  const { runs } = ports.names;
  return persist(ports, async () => {
    const created = await blobs.create(runs, name, bytes, write);
    if (created.kind === "created" || wanted.code === undefined) return created.kind;
    const there = await blobs.head(runs, name);
    // It was there a moment ago: the run is being deleted, and the attempt learns so by the run's marker.
    if (there.kind === "missing") return "existed";
    const { contentType, etag } = there.properties;
    if (accepts(wanted, parseOutputFacts(contentType).code)) return "existed";
    const replaced = await blobs.replace(runs, name, bytes, { ...write, ifMatch: etag });
    return replaced.kind === "replaced" ? "replaced" : "existed";
  });
}
