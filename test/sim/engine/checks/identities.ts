import type { Manifest } from "../../../../src/engine/model/run.ts";
import { codesIn } from "../../../support/rangesCode.ts";
import type { Check, Scene } from "./judge.ts";
import { codeOf, parsed, placeOf, type RunRecord } from "./ledger.ts";

/**
 * Each result says in its own bytes which codes made it, as partials do: that of its plan, and those whose
 * partials the request takes; then its manifest says so.
 */
export const noResultFoldsTwo =
  ({ ledger, report }: Scene): Check =>
  (effect) => {
    if (effect.kind !== "created") return;
    const place = placeOf(effect.container, effect.name);
    if (place.kind !== "result" || !place.rest.endsWith("/manifest.json")) return;
    const manifest = parsed<Manifest>(effect.body);
    const run = ledger.record(place.id, place.uid);
    const codes = codesIn(String(ledger.results.get(manifest.blob) ?? ""));
    for (const what of wrongWith(manifest, run, codes))
      report("no result folds two identities unless it was asked to", `${effect.name}: ${what}`);
  };

function* wrongWith(manifest: Manifest, run: RunRecord, codes: readonly string[]): Generator<string> {
  const asked = run.spec?.reuse?.codes ?? [];
  if (codes.length > 1 && asked.length === 0) yield `nobody asked to mix ${codes.join(" and ")}`;
  if (codes.length > 1 !== (manifest.mixed === true))
    yield `${codes.length} codes, mixed is ${manifest.mixed}`;
  const unsaid = codes.filter((code) => !manifest.code.includes(code));
  if (unsaid.length > 0) yield `it does not say that ${unsaid.join(", ")} made it`;
  const planned = run.plan?.code;
  if (planned !== undefined && codes.some((code) => code !== planned && !asked.includes(code)))
    yield `${codes.join()} made it, and ${planned} planned it`;
}

/** A worker writes a partial only of the code that its run has, or one of a code that the request takes. */
export const otherCodeComputesNothing =
  ({ ledger, by, report }: Scene): Check =>
  (effect) => {
    if (effect.kind !== "created" && effect.kind !== "replaced") return;
    const message = by()?.message;
    const place = placeOf(effect.container, effect.name);
    if (place.kind !== "run" || message === undefined) return;
    if (!place.rest.startsWith("parts/")) return;
    const { plan, spec } = ledger.record(place.id, place.uid);
    const wanted = message.code ?? plan?.code;
    const code = codeOf(effect.contentType);
    if (wanted !== undefined && code !== wanted && !spec?.reuse?.codes?.includes(code))
      report("other code computes nothing", `${effect.name} is of ${code}, its run of ${wanted}`);
  };
