import { CalculationError, planLost } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import type { MessageOf } from "../../model/message.ts";
import {
  belongsTo,
  isOutdated,
  type OutputFacts,
  outputContentType,
  parseOutputFacts,
  planTag,
} from "../../model/output.ts";
import { planSchema } from "../../model/run.ts";
import { runBlobs } from "../../model/runBlobs.ts";
import { persist, readDocument } from "../../storage/callSteps.ts";
import { type Attempt, DroppedError, StorageLostError, type WorkerPorts } from "../ports.ts";

export interface Output extends Omit<OutputFacts, "plan"> {
  readonly bytes: Uint8Array;
  readonly metadata?: Readonly<Record<string, string>>;
}

/**
 * Writes one partial or node, create-only. A small one also rides in the metadata, which a list returns. One of another plan
 * or of other code counts as missing for every fold, and gives way to one of the plan that is there (rule *identity*); one with gaps of an
 * earlier generation does too. Each span of it
 * keeps the limit of a partial; they must fit into one fold together.
 */
export async function writeOutput(
  ports: WorkerPorts,
  name: string,
  { bytes, metadata, ...facts }: Output,
  { message, accepted }: Attempt<MessageOf<"compute" | "combine">>,
): Promise<"created" | "existed" | "replaced"> {
  const { foldBytesMax } = limits;
  const { run, uid } = message;
  if (bytes.length > foldBytesMax) {
    const why = `its spans have ${bytes.length} bytes together; the limit is ${foldBytesMax} (foldBytesMax)`;
    const fix = "a pack size that is a power of two has one span";
    throw new CalculationError("partial-too-large", `${why}; ${fix}`);
  }
  // The members of a partial with gaps may fill the metadata.
  const inline = bytes.length + (metadata?.["members"] ?? "").length <= limits.inlineBytesMax;
  const data: Record<string, string> =
    inline && bytes.length > 0 ? { data: Buffer.from(bytes).toString("base64url") } : {};
  const write = {
    contentType: outputContentType("application/octet-stream", {
      ...facts,
      plan: accepted.plan && planTag(accepted.plan),
    }),
    metadata: { ...metadata, ...data, inline: inline ? "1" : "0" },
  };
  const { blobs } = ports.storage;
  const { runs } = ports.names;
  return persist(ports, async () => {
    const created = await blobs.create(runs, name, bytes, write);
    if (created.kind === "created") return created.kind;
    const there = await blobs.head(runs, name);
    // It was there a moment ago: the run is being deleted, and its marker tells the attempt so.
    if (there.kind === "missing") return "existed";
    const { contentType, etag } = there.properties;
    const facts = parseOutputFacts(contentType);
    if (belongsTo(accepted, facts) && !isOutdated(facts, message.gen)) return "existed";
    const { plan } = runBlobs(run, uid);
    const ofRun =
      message.plan === undefined ? undefined : await readDocument(blobs, [runs, plan], planSchema);
    // Dropped without a record, this send would count as lost again and again.
    if (message.plan !== undefined && ofRun === undefined)
      throw new StorageLostError(planLost, `${plan} is gone`);
    if (message.plan !== ofRun?.sha256) throw new DroppedError("its plan is not the run's any more");
    const replaced = await blobs.replace(runs, name, bytes, { ...write, ifMatch: etag });
    return replaced.kind === "replaced" ? "replaced" : "existed";
  });
}
