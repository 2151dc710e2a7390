import { canonicalJson } from "../model/decode.ts";
import { shownIdentity } from "../model/identity.ts";
import { parseRunId } from "../model/names.ts";
import { nothingToReuse } from "../model/reusable.ts";
import type { Spec } from "../model/run.ts";
import type { Client } from "./client.ts";
import { readMarker, readSpec, readState } from "./runDocuments.ts";
import { type CheckedRequest, invalid } from "./runRequest.ts";

/** What a submit with `reuse` takes partials of. Throws `InputError` where the named run has none for this request. */
export async function findReuse(client: Client, request: CheckedRequest): Promise<Spec["reuse"]> {
  const { reuse, acceptCode, calculation, params, code } = request;
  if (reuse === undefined) return undefined;
  const id = parseRunId(reuse);
  const spec = (await readSpec(client, id))?.value;
  if (spec === undefined) throw invalid("reuse", `there is no run ${id}`);
  const { uid } = spec;
  const state = (await readState(client, id, uid))?.value;
  const why = nothingToReuse(spec, state);
  if (why !== undefined) throw invalid("reuse", why);
  if ((await readMarker(client, id))?.value.want === "delete")
    throw invalid("reuse", `run ${id} is being deleted`);
  if (spec.calculation !== calculation.name) throw invalid("reuse", `run ${id} is of ${spec.calculation}`);
  if (canonicalJson(spec.params) !== canonicalJson(params))
    throw invalid("reuse", `run ${id} has other parameters`);
  if (acceptCode) {
    const codes = [state?.code, ...(state?.mix ?? [])].filter((one) => one !== undefined && one !== code);
    return { run: id, uid, codes: codes as string[] };
  }
  if (state?.code === code) return { run: id, uid };
  const by = `run ${id} was computed by ${shownIdentity(state?.code ?? "")}, and this one by ${shownIdentity(code ?? "")}`;
  throw invalid("reuse", `${by}; acceptCode (--accept-code) takes its partials too`);
}
