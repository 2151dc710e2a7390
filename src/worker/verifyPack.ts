import { resultBlobs } from "../model/names.ts";
import { packsOf } from "../model/packs.ts";
import { encodeVerified, type Verified } from "../model/verified.ts";
import { computed } from "./computePack.ts";
import { type Job, MalformedWorkError, type WorkerPorts } from "./ports.ts";
import { sha256Of } from "./sha256Of.ts";
import { whileWanted } from "./stillWanted.ts";

/** Computes a pack again and writes the hash of its partial, and nothing else. The run may have ended long ago. */
export async function verifyPack(ports: WorkerPorts, job: Job<"verify">): Promise<string> {
  const { message, delivery } = job;
  const { run, uid, origin, pack } = message;
  const plan = await ports.documents.plan(run, uid, origin);
  if (pack >= packsOf(plan)) {
    throw new MalformedWorkError("bad-range", `run ${run} has ${packsOf(plan)} packs, and no pack ${pack}`);
  }
  const { bytes, ms } = await computed(ports, plan, pack, whileWanted(ports, job, delivery.urgent));
  return writeVerified(ports, message, { sha256: sha256Of(bytes).toString("hex"), ms });
}

/** The first answer stands: its client may have read it. */
export async function writeVerified(
  ports: Pick<WorkerPorts, "storage" | "names">,
  message: Pick<Job<"verify">["message"], "run" | "uid" | "tag" | "pack">,
  verified: Verified,
): Promise<string> {
  const { run, uid, tag, pack } = message;
  const name = resultBlobs(run, uid).verified(tag, pack);
  const created = await ports.storage.blobs.create(ports.names.results, name, JSON.stringify(verified), {
    contentType: "application/json",
    metadata: encodeVerified(verified),
  });
  return created.kind;
}
