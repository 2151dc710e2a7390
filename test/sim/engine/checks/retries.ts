import type { Check, Scene } from "./judge.ts";
import { placeOf, type RunRecord } from "./ledger.ts";

const checker = "a retry computes what has no partial";

/**
 * A later generation sends no pack that had its whole partial when it was asked for, and leaves those as they are.
 */
export function retryIsExact({ ledger, report }: Scene): Check {
  /** Partials at the time of each retry, by uid and generation. */
  const before = new Map<string, ReadonlyMap<number, string>>();

  function onManifest(run: RunRecord, generation: number): void {
    // What arrives after a deletion is read by nobody, and swept.
    if (!run.specThere || run.lostByHand === true) return;
    for (const [pack, etag] of before.get(`${run.uid} ${generation}`) ?? []) {
      if (run.parts.get(pack) !== etag)
        report(checker, `the partial of pack ${pack} of ${run.id} has changed`);
    }
  }

  return (effect) => {
    if (effect.kind === "created" || effect.kind === "marked") {
      const place = placeOf(effect.container, effect.name);
      if (place.kind === "marker") {
        const { uid = "", generation } = effect.metadata;
        const key = `${uid} ${generation}`;
        const { parts, gapped } = ledger.record(place.id, uid);
        const whole = [...parts].filter(([pack]) => !gapped.has(pack));
        if (Number(generation) > 1 && !before.has(key)) before.set(key, new Map(whole));
      } else if (place.kind === "result" && place.rest.endsWith("/manifest.json")) {
        onManifest(ledger.record(place.id, place.uid), Number(place.rest.split("/")[0]));
      }
    } else if (effect.kind === "sent") {
      const { message } = effect;
      // Partials of a plan that somebody deleted fit no other.
      if (message?.kind !== "compute" || ledger.record(message.run, message.uid).lostByHand === true) return;
      if (before.get(`${message.uid} ${message.gen}`)?.has(message.pack)) {
        report(checker, `pack ${message.pack} of ${message.run} is resent in generation ${message.gen}`);
      }
    }
  };
}
