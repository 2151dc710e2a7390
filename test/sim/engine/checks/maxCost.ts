import { calls, subtractCalls } from "../../../../src/engine/model/calls.ts";
import { costOf } from "../../../../src/engine/model/cost.ts";
import { parseOutputFacts } from "../../../../src/engine/model/output.ts";
import { perPack } from "../../../../src/engine/model/runCost.ts";
import { spentOf } from "../../../../src/engine/model/spent.ts";
import { boundsOfMarkers } from "./bounds.ts";
import type { Check, Scene } from "./judge.ts";
import { placeOf, type RunRecord } from "./ledger.ts";

/** Packs are not alike, and a leader knows of some what the ledger does not. */
const [packShare, boundShare] = [0.7, 1.05];
const instanceDefault = { mb: 2_048, threads: 2 };

/**
 * Whenever the first leader of a run sends a pack, what the run has spent by its state and what is in flight without that pack are within its max cost. What
 * is in flight is counted from messages and outcomes, and priced as if all threads of an instance were busy.
 */
export function costIsBounded({ ledger, nowMs, report }: Scene): Check {
  const bounds = boundsOfMarkers(nowMs);
  const times = new Map<string, { packs: number; ms: number }>();
  const sends = new Set<string>();
  const firstTerms = new Map<string, number>();

  function packDollars({ uid, plan }: RunRecord): number {
    const { packs, ms } = times.get(uid) ?? { packs: 0, ms: 0 };
    const { mb, threads } = plan?.instance ?? instanceDefault;
    const packMs = packs === 0 ? (plan?.packMs ?? 0) : ms / packs;
    const stored = subtractCalls(perPack, calls({ delete: perPack.delete }));
    return costOf(stored, { mbMs: (packShare * packMs * mb) / threads, executions: 1 }).dollars;
  }

  return (effect) => {
    if (effect.kind === "sent") {
      const { message } = effect;
      if (message?.kind !== "compute") return;
      const { run, uid, gen, turn, pack, send } = message;
      // Workers put a message back, or send its next attempt: the same send, which the leader decided before.
      const decided = `${uid} ${gen} ${turn} ${pack} ${send}`;
      if (sends.has(decided)) return;
      sends.add(decided);
      const maxCost = bounds.of(uid);
      const record = ledger.record(run, uid);
      if (!(maxCost > 0 && maxCost < Number.POSITIVE_INFINITY) || record.state === undefined) return;
      if (record.lostByHand === true) return;
      const failed = new Set(
        [...record.failures.values()].flatMap(({ work, generation }) =>
          work.kind === "pack" && generation === gen ? work.pack : [],
        ),
      );
      const sent = new Set(
        record.sent.flatMap(({ message: one }) =>
          one.kind === "compute" && one.gen === gen && one.turn === turn ? one.pack : [],
        ),
      );
      sent.delete(pack);
      const open = [...sent].filter((one) => !record.parts.has(one) && !failed.has(one)).length;
      const spent = spentOf({ ...record.state, inFlight: 0 }).cost.dollars;
      const all = spent + open * packDollars(record);
      // While nobody led, no state says how long was computed and on how many instances, so that estimates jump where it is known again.
      const { term } = record.state;
      const firstTerm = firstTerms.get(uid) ?? term;
      firstTerms.set(uid, firstTerm);
      if (term === firstTerm && all > boundShare * maxCost)
        report(
          "the cost is bounded",
          `pack ${pack} of ${run} is sent at $${all.toPrecision(3)}, ${open} packs in flight, its max cost is $${maxCost}`,
        );
    } else if (effect.kind !== "removed") {
      const place = placeOf(effect.container, effect.name);
      if (place.kind === "marker")
        bounds.written(
          effect.metadata["uid"] ?? "",
          Number(effect.metadata["dollars"] ?? Number.POSITIVE_INFINITY),
        );
      else if (place.kind === "run" && place.rest.startsWith("parts/")) {
        const { packs, ms } = times.get(place.uid) ?? { packs: 0, ms: 0 };
        times.set(place.uid, { packs: packs + 1, ms: ms + parseOutputFacts(effect.contentType).ms });
      }
    }
  };
}
