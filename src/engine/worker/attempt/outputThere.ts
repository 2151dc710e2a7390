import type { WorkMessage } from "../../model/message.ts";
import { belongsTo, isOutdated, parseOutputFacts } from "../../model/output.ts";
import { resultBlobs, runBlobs } from "../../model/runBlobs.ts";
import type { WorkerPorts } from "../ports.ts";

/** Whether the output is there, or the manifest, after which inputs may be cleaned up already. */
export async function outputThere(ports: WorkerPorts, message: WorkMessage): Promise<boolean> {
  const { run, uid, gen, origin } = message;
  const { runs, results } = ports.names;
  const at = runBlobs(run, uid, origin);
  const isThere = async (container: string, name: string): Promise<boolean> => {
    const found = await ports.storage.blobs.head(container, name);
    if (found.kind === "missing") return false;
    // An output of another plan or of other code counts as missing, as one with gaps of an earlier generation, and is replaced.
    const facts = parseOutputFacts(found.properties.contentType);
    return belongsTo(message, facts) && !isOutdated(facts, gen);
  };
  const isFinished = () => isThere(results, resultBlobs(run, uid).manifest(gen));
  switch (message.kind) {
    case "plan":
      return isThere(runs, at.plan);
    case "compute":
      return isThere(runs, at.part(message.shard, message.pack));
    case "combine":
      return (await isThere(runs, at.node(gen, message.level, message.index))) || isFinished();
    case "finish":
      return isFinished();
    default:
      // A client's question has no output but its answer.
      return false;
  }
}
