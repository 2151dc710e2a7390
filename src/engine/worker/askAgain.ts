import { hash } from "node:crypto";
import type { MessageOf } from "../model/message.ts";
import { parseOutputFacts } from "../model/output.ts";
import { askedLevel, prefixesOf } from "../model/prefixes.ts";
import { writeVerified } from "./attempt/endSend.ts";
import { foldBounded } from "./folding/fold.ts";
import { nodesToFold } from "./folding/outputs.ts";
import { taskOptions } from "./markerWatch.ts";
import { type Attempt, MalformedWorkError, type WorkerPorts } from "./ports.ts";

/**
 * Asks again whether a run stops after a prefix, about the very fold that was kept, and compares with what was said then and
 * with what the client expects. Where the run stopped it also makes the result of that fold again. It writes the hash of the
 * fold, or of that result, and nothing else.
 */
export async function askAgain(ports: WorkerPorts, attempt: Attempt<MessageOf<"verify">>): Promise<string> {
  const { message, accepted } = attempt;
  const { calculation, params } = await ports.documents.spec(message);
  const plan = await ports.documents.plan(message);
  const chunks = prefixesOf(plan.chunks)[message.pack];
  if (plan.stops !== true || chunks === undefined) {
    const what = `run ${message.run} is not asked about a prefix ${message.pack}`;
    throw new MalformedWorkError("bad-range", what);
  }
  const at = { from: message.pack, to: message.pack + 1 };
  const nodes = await nodesToFold({ ports, plan, accepted }, askedLevel, at, { gen: message.gen });
  const fold = { task: { calculation, params }, from: 0, options: taskOptions(ports, attempt) };
  const { parts, options, facts } = await foldBounded(ports, fold, nodes);
  const { folded } = facts;
  const before = nodes.every(({ blob }) => parseOutputFacts(blob.contentType).stops === message.stops);
  const says = await ports.userCode.ask({ calculation, params, parts, folded, chunks }, options);
  if (!before || says !== message.stops) {
    const said = before ? message.stops : !message.stops;
    const text = `stop says ${says} of the first ${chunks} chunks, and said ${said}`;
    return writeVerified(ports, message, { error: { code: "stop-differs", message: text } });
  }
  const task = { calculation, params, parts, folded, count: chunks };
  const bytes = says
    ? (await ports.userCode.finish(task, options)).body
    : (parts[0]?.bytes ?? new Uint8Array());
  return writeVerified(ports, message, { sha256: hash("sha256", bytes), ms: 0 });
}
