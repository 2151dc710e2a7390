import { limits } from "../../../../src/model/limits.ts";
import { parseFailure, workName } from "../../../../src/model/names.ts";
import type { Failure } from "../../../../src/model/run.ts";
import type { State } from "../../../../src/model/state.ts";
import type { Check, Scene } from "./judge.ts";
import { parsed, placeOf, type RunRecord } from "./ledger.ts";

const checker = "fails only for a reason";

/** What the user code of a simulation throws, and nothing else does. */
export const brokenCode = "calculation-threw";

/**
 * A send ends in an error only where user code threw; a run fails only where some work has such an end, or as many
 * poisoned sends as are given, or it has waited for its code long enough and in words. Silence, storage that is away and clean-up are no failures.
 */
export const failsForAReason =
  ({ ledger, report }: Scene): Check =>
  (effect) => {
    if (effect.kind !== "created" && effect.kind !== "replaced") return;
    const place = placeOf(effect.container, effect.name);
    if (place.kind !== "run") return;
    if (parseFailure(effect.name) !== undefined) {
      const { cause, code, message } = parsed<Failure>(effect.body);
      const lost = cause === "storage-lost" && ledger.record(place.id, place.uid).lostByHand === true;
      if (cause !== "poison" && code !== brokenCode && !lost)
        report(checker, `${effect.name}: ${code}: ${message}`);
    } else if (place.rest === "state.json") {
      const state = parsed<State>(effect.body);
      if (state.phase !== "failed") return;
      const run = ledger.record(place.id, place.uid);
      if (state.error?.code === "other-code" && waitedInWords(state)) return;
      if (!hasReason(run, state.generation)) {
        report(
          checker,
          `${run.id} fails with nothing but ${endsOf(run, state.generation)}: ${state.error?.message}`,
        );
      }
    }
  };

function hasReason(run: RunRecord, generation: number): boolean {
  const poisoned = new Map<string, number>();
  for (const { work, generation: of, failure } of run.failures.values()) {
    if (of !== generation) continue;
    if (failure.cause !== "poison") return true;
    const name = workName(work);
    poisoned.set(name, (poisoned.get(name) ?? 0) + 1);
  }
  return Math.max(0, ...poisoned.values()) >= limits.poisonedSendsMax;
}

/** It said what it waits for, for as long as it may, and says what to do. */
const waitedInWords = ({ error, otherCode: refused, updatedMs }: State): boolean =>
  refused !== undefined &&
  updatedMs - refused.sinceMs >= limits.identityWaitMs &&
  /^no instance has .*; they have .* or --mix/.test(error?.message ?? "");

const endsOf = (run: RunRecord, generation: number): string =>
  [...run.failures]
    .filter(([, one]) => one.generation === generation)
    .map(([name, { failure }]) => `${name} ${failure.cause}`)
    .join(", ") || "nothing";
