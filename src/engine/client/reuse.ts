import { canonicalJson, unlessUnreadable } from "../model/decode.ts";
import { parseRunId } from "../model/names.ts";
import { reusableOf } from "../model/reusable.ts";
import type { Spec } from "../model/run.ts";
import type { Client } from "./client.ts";
import { readMarker, readSpec, readState } from "./runDocuments.ts";
import { type CheckedRequest, invalid } from "./runRequest.ts";
import { firstEnded, runs } from "./runs.ts";

/** Ended runs of the same request that are read to find one whose partials are there. */
const runsRead = 20;

/**
 * What a submit with `reuse` may reuse: from the run that it names, or from the newest ended run with the same calculation,
 * code and parameters that kept its partials. Throws `InputError` where the named run has none to give.
 */
export async function findReuse(client: Client, request: CheckedRequest): Promise<Spec["reuse"]> {
  const { reuse, calculation } = request;
  if (reuse === undefined) return undefined;
  if (reuse !== true) {
    const found = await reuseOf(client, parseRunId(reuse), request);
    if (typeof found === "string") throw invalid("reuse", found);
    return found;
  }
  const listed = await runs(client, { calculation: calculation.name, cursor: firstEnded });
  const ended = listed.runs.filter((one) => !("params" in one) || isSame(one.params, request.params));
  for (const { run } of ended.slice(0, runsRead)) {
    const found = await unlessUnreadable(() => reuseOf(client, run, request));
    if (typeof found === "object") return found;
  }
  return { keeps: [] };
}

const isSame = (a: unknown, b: unknown): boolean => canonicalJson(a) === canonicalJson(b);

/** What a run has to give, or why it has nothing. */
async function reuseOf(
  client: Client,
  id: string,
  { calculation, params, code }: CheckedRequest,
): Promise<NonNullable<Spec["reuse"]> | string> {
  const spec = (await readSpec(client, id))?.value;
  if (spec === undefined) return `there is no run ${id}`;
  const state = (await readState(client, id, spec.uid))?.value;
  const found = reusableOf(spec, state);
  if (typeof found === "string") return found;
  if ((await readMarker(client, id))?.value.want === "delete") return `run ${id} is being deleted`;
  if (spec.calculation !== calculation.name) return `run ${id} is of ${spec.calculation}`;
  if (!isSame(spec.params, params)) return `run ${id} has other parameters`;
  return state?.code === code ? found : `run ${id} was computed by other code`;
}
