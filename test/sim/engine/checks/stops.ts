import type { Manifest } from "../../../../src/engine/model/run.ts";
import { isFinal, type State } from "../../../../src/engine/model/state.ts";
import type { Check, Scene } from "./judge.ts";
import { parsed, placeOf, type RunRecord } from "./ledger.ts";

const checker = "a run stops where its rule says";

/**
 * The result of a run that may stop is that of the first prefix which the rule of `ranges` accepts: so many of its chunks are
 * folded. It is whole where the rule accepts none, or somebody asked to end it with what was done. Once a state says that the
 * run has stopped, no state of that generation says anything else. A leader that was deposed may send packs beyond.
 */
export const stopsWhereTheRuleSays =
  ({ ledger, report }: Scene): Check =>
  (effect) => {
    if (effect.kind !== "created" && effect.kind !== "replaced") return;
    const place = placeOf(effect.container, effect.name);
    if (place.kind === "run" && place.rest === "state.json") {
      const state = parsed<State>(effect.body);
      const before = ledger.record(place.id, place.uid).state;
      if (before?.generation === state.generation && changes(before, state))
        report(
          checker,
          `${place.id} stopped after ${before.layout?.chunks} chunks, then ${state.layout?.chunks}`,
        );
    }
    if (place.kind !== "result" || !place.rest.endsWith("/manifest.json")) return;
    const run = ledger.record(place.id, place.uid);
    for (const what of wrongWith(parsed<Manifest>(effect.body), run))
      report(checker, `${effect.name}: ${what}`);
  };

const changes = (before: State, now: State): boolean =>
  before.stopped !== undefined && !isFinal(before.phase) && before.layout?.chunks !== now.layout?.chunks;

function* wrongWith({ chunks, missing, stopped }: Manifest, run: RunRecord): Generator<string> {
  const { stopAt } = (run.spec?.params ?? {}) as { readonly stopAt?: number };
  const planned = run.plan?.chunks ?? 0;
  if (stopAt === undefined) {
    if (stopped !== undefined) yield "it stopped, and nobody asked it to";
    return;
  }
  if (run.forged === true || run.state?.keep === true) return;
  const has = (prefix: number): number =>
    prefix - missing.reduce((sum, { from, to }) => sum + Math.max(0, Math.min(to, prefix) - from), 0);
  const first = plainPrefixes(planned).find((prefix) => prefix <= chunks && has(prefix) >= stopAt);
  if ((first ?? planned) !== chunks) yield `it stopped after ${chunks} of ${planned} chunks, not ${first}`;
  if ((stopped !== undefined) !== (first !== undefined))
    yield `it says that it stopped: ${JSON.stringify(stopped)}`;
}

/** The multiples of a 64th of the next power of two that are `2^k` or `3·2^k` of it. */
function plainPrefixes(chunks: number): number[] {
  const whole = 2 ** Math.ceil(Math.log2(Math.max(chunks, 1)));
  const unit = Math.max(1, whole / 64);
  return [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48].map((times) => times * unit).filter((size) => size < chunks);
}
