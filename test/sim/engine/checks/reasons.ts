import { failRunCode, laterCode } from "../../../../src/engine/model/errors.ts";
import { limits } from "../../../../src/engine/model/limits.ts";
import { workOf } from "../../../../src/engine/model/message.ts";
import type { Failure } from "../../../../src/engine/model/run.ts";
import { parseFailure, workName } from "../../../../src/engine/model/runBlobs.ts";
import type { State } from "../../../../src/engine/model/state.ts";
import type { Check, Scene } from "./judge.ts";
import { parsed, placeOf, type RunRecord } from "./ledger.ts";

const checker = "fails only for a reason";

/** What the user code of a simulation throws, and nothing else does. */
export const brokenCode = "calculation-threw";

/** Another error that user code may end in: no attempt can change it. */
export const hopelessCode = "not-json";

/**
 * A send ends in an error only where user code threw or took too long; a run fails only where some work has such an
 * end, or as many ends by time limit, by dead processes or in poison as are given, or past its deadline, on a forged
 * manifest, or after it has waited for its code long enough and in words. Silence, storage that is away and clean-up are
 * no failures.
 */
export const failsForAReason =
  ({ ledger, report, begun }: Scene): Check =>
  (effect) => {
    if (effect.kind !== "created" && effect.kind !== "replaced") return;
    const place = placeOf(effect.container, effect.name);
    if (place.kind !== "run") return;
    if (parseFailure(effect.name) !== undefined) {
      const { cause, code, message } = parsed<Failure>(effect.body);
      const run = ledger.record(place.id, place.uid);
      // A worker that cannot read the marker does not learn of a deletion: a needless record does no harm.
      const isLost = ({ lostByHand, deleteAskedMs }: RunRecord) => lostByHand || deleteAskedMs !== undefined;
      // A file that somebody replaced is not joined. A message of a plan that was rolled back may meet the plan after it.
      const isLosing = cause === "storage-lost" || code === "result-hash" || code === "plan-differs";
      const lost = (isLosing || (code === "gaps-differ" && hasGaps(run))) && isLost(run);
      if (cause !== "unreported" && !userCodes.has(code) && !lost)
        report(checker, `${effect.name}: ${code}: ${message}`);
    } else if (place.rest === "state.json") {
      const state = parsed<State>(effect.body);
      if (state.phase !== "failed") return;
      const run = ledger.record(place.id, place.uid);
      if (run.forged === true && state.error?.code === "manifest-differs") return;
      if (run.lostByHand === true && state.error?.code === "spec-lost") return;
      if (state.error?.code === "other-code" && waitedInWords(state)) return;
      // Nobody ever began it, and it says so.
      if (/lost \d+ times/.test(state.error?.message ?? "") && run.sent.length > limits.diedSendsMax) return;
      // What an operator deleted may be what the run cannot do without.
      const gone = /is gone|storage-lost|manifest-differs/.test(JSON.stringify(state.error));
      const differ = state.error?.code === "gaps-differ" && hasGaps(run);
      if (run.lostByHand === true && (gone || differ)) return;
      if (!hasReason(run, state.generation, begun) && state.error?.code !== "deadline") {
        report(
          checker,
          `${run.id} fails with nothing but ${endsOf(run, state.generation)}: ${state.error?.message}`,
        );
      }
    }
  };

/** A partial with gaps that was deleted comes back with other ones. */
const hasGaps = ({ spec }: RunRecord): boolean => spec?.tolerate !== undefined;

const userCodes: ReadonlySet<string> = new Set([
  ...[brokenCode, hopelessCode, laterCode, failRunCode, "time-limit", "process-ended", "thread-exited"],
]);

function hasReason(run: RunRecord, generation: number, begun: Scene["begun"]): boolean {
  const ends = new Map<string, { overtime: number; died: number; poison: number }>();
  for (const { work, generation: of, failure } of run.failures.values()) {
    if (of !== generation) continue;
    const { cause, code } = failure;
    if (cause !== "unreported" && code !== "time-limit" && code !== "process-ended") return true;
    const name = workName(work);
    const counts = ends.get(name) ?? { overtime: 0, died: 0, poison: 0 };
    ends.set(name, counts);
    if (code === "time-limit") counts.overtime += 1;
    // A worker that would be the next to die ends it for good.
    else if (code === "process-ended") counts.died += cause === "unreported" ? 1 : limits.diedSendsMax;
    else if (code === "poison") counts.poison += 1;
  }
  return [...ends].some(
    ([name, { overtime, died, poison }]) =>
      overtime >= limits.overtimeSendsMax ||
      poison >= limits.poisonedSendsMax ||
      // A process that died with the work never came back to say so; one may have died right before it began.
      (died >= limits.diedSendsMax && silentAttempts(run.uid, name, begun) >= limits.diedSendsMax - 1),
  );
}

/** It said what it waits for, for as long as it may, and says what to do. */
const waitedInWords = ({ error, otherCode: refused, updatedMs }: State): boolean =>
  refused !== undefined &&
  updatedMs - refused.sinceMs >= limits.identityWaitMs &&
  /^no instance has .*; they have .* as another run/.test(error?.message ?? "");

const silentAttempts = (uid: string, name: string, begun: Scene["begun"]): number =>
  begun.filter(({ handling: { message }, returned }) => {
    if (returned || message?.uid !== uid) return false;
    const work = workOf(message);
    return work !== undefined && workName(work) === name;
  }).length;

const endsOf = (run: RunRecord, generation: number): string =>
  [...run.failures]
    .filter(([, one]) => one.generation === generation)
    .map(([name, { failure }]) => `${name} ${failure.cause} ${failure.code}`)
    .join(", ") || "nothing";
