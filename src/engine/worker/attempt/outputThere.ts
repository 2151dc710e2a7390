import type { WorkMessage } from "../../model/message.ts";
import { belongsTo, isOutdated, parseOutputFacts } from "../../model/output.ts";
import type { Spec } from "../../model/run.ts";
import { resultBlobs, runBlobs } from "../../model/runBlobs.ts";
import type { WorkerPorts } from "../ports.ts";

/** Whether the output is there, or the manifest, after which inputs may be cleaned up already. */
export async function outputThere(
  ports: WorkerPorts,
  message: WorkMessage,
  { reuse }: Pick<Spec, "reuse">,
): Promise<boolean> {
  const { run, uid, gen } = message;
  const { runs, results } = ports.names;
  const at = runBlobs(run, uid);
  const { blobs } = ports.storage;
  const isThere = async (name: string): Promise<boolean> => {
    const found = await blobs.head(runs, name);
    if (found.kind === "missing") return false;
    // An output of another plan or of other code counts as missing, as one with gaps of an earlier generation, and is replaced.
    const facts = parseOutputFacts(found.properties.contentType);
    return belongsTo({ ...message, mix: reuse?.codes }, facts) && !isOutdated(facts, gen);
  };
  const isFinished = async () =>
    (await blobs.head(results, resultBlobs(run, uid).manifest(gen))).kind === "found";
  switch (message.kind) {
    case "plan":
      return (await blobs.head(runs, at.plan)).kind === "found";
    case "compute":
      return isThere(at.part(message.shard, message.pack));
    case "combine":
      return (await isThere(at.node(gen, message.level, message.index))) || isFinished();
    case "finish":
      return isFinished();
    default:
      // A client's question has no output but its answer.
      return false;
  }
}
