import { limits } from "../../../../src/engine/model/limits.ts";
import type { Check, Scene } from "./judge.ts";
import { placeOf } from "./ledger.ts";

const checker = "an old run is never met";

/**
 * A message writes only under its own uid, so a run whose id is used again meets nothing of the old one; and what is
 * begun well after a run is gone writes nothing of it.
 */
export function oldRunIsNeverMet({ ledger, nowMs, by, report }: Scene): Check {
  const goneMs = new Map<string, number>();
  return (effect) => {
    if (effect.kind === "removed") {
      const place = placeOf(effect.container, effect.name);
      if (place.kind !== "marker") return;
      const run = ledger.current(place.id, "marker");
      if (run !== undefined && !run.specThere) goneMs.set(run.uid, nowMs());
    }
    if (effect.kind !== "created") return;
    const handling = by();
    const place = placeOf(effect.container, effect.name);
    // A spec that was deleted by hand came back, and a submit goes on with its run.
    if (place.kind === "marker") goneMs.delete(effect.metadata["uid"] ?? "");
    if (handling?.message === undefined || (place.kind !== "run" && place.kind !== "result")) return;
    const { kind, uid } = handling.message;
    if (place.uid !== uid) report(checker, `${kind} of ${uid} wrote ${effect.name}`);
    const gone = goneMs.get(uid);
    // Where the marker cannot be read, a record too many is better than a send that never ends; it is swept.
    if (place.rest.startsWith("failed/")) return;
    // A submit that was on its way for very long has put its marker back: work is wanted until a leader meets it.
    if (ledger.current(place.id, "marker")?.uid === uid) return;
    if (gone !== undefined && handling.beganMs > gone + limits.markerTrustMs) {
      report(
        checker,
        `${kind}, begun ${handling.beganMs - gone} ms after its run was gone, wrote ${effect.name}`,
      );
    }
  };
}
