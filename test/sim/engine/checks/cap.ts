import { boundsOfMarkers } from "./bounds.ts";
import type { Check, Scene } from "./judge.ts";
import { numberAtEnd, placeOf } from "./ledger.ts";

/**
 * Never more packs of one generation and turn have been sent and have no outcome than the cap allows. A pack that is
 * resent counts once. Its outcome is its partial, or a record of a send that failed.
 */
export function capIsKept({ ledger, nowMs, report }: Scene): Check {
  const inFlight = new Map<string, Set<number>>();
  const sentBefore = new Map<string, Set<number>>();
  const caps = boundsOfMarkers(nowMs);

  function onOutcome(uid: string, pack: number): void {
    for (const [key, open] of inFlight) if (key.startsWith(`${uid} `)) open.delete(pack);
  }

  return (effect) => {
    if (effect.kind === "sent") {
      const { message } = effect;
      if (message?.kind !== "compute") return;
      const { run, uid, pack } = message;
      const key = `${uid} ${message.gen} ${message.turn}`;
      const before = sentBefore.get(key) ?? new Set();
      sentBefore.set(key, before);
      if (before.has(pack)) return;
      before.add(pack);
      const record = ledger.record(run, uid);
      // What an operator took away or rolled back counts as in flight here, and nowhere else.
      if (record.lostByHand === true) return;
      const failed = [...record.failures.values()].some(
        ({ work, generation }) => work.kind === "pack" && work.pack === pack && generation === message.gen,
      );
      if (record.parts.has(pack) || failed) return;
      const open = inFlight.get(key) ?? new Set();
      inFlight.set(key, open.add(pack));
      const cap = caps.of(uid);
      if (open.size > cap)
        report("the cap is kept", `${open.size} packs of ${run} are in flight, the cap is ${cap}`);
    } else if (effect.kind !== "removed") {
      const place = placeOf(effect.container, effect.name);
      if (place.kind === "marker") caps.written(effect.metadata["uid"] ?? "", Number(effect.metadata["cap"]));
      else if (place.kind === "run" && /^(parts|failed\/\d+)\//.test(place.rest))
        onOutcome(place.uid, numberAtEnd(place.rest.replace(/(\.\d+){2}$/, "")));
    }
  };
}
