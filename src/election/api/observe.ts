import { CorruptDataError, NewerVersionError } from "../../model/errors.ts";
import { electionBlob } from "../../model/names.ts";
import { cappedCall } from "../cappedCall.ts";
import { isDenied, judge } from "../judge.ts";
import { isHeld, type Sight, sightOf } from "../leaderView.ts";
import { whoLed } from "../whoLed.ts";
import { type ElectionPlace, type ElectionPorts, openPlace } from "./place.ts";
import { newTerms, type TermMemory, type TermSeen } from "./termsSeen.ts";

export interface ObserveOptions extends ElectionPlace {
  /** Of the election. Default `leader`, the one of Leasefold's own app. */
  readonly name?: string;
  /** How often to look, at least 100. Default 1,000. Each look costs one HEAD. */
  readonly everyMs?: number;
  /** Begin after this term, as an earlier observer saw it, instead of with the present one. */
  readonly after?: { readonly term: number; readonly termid: string };
}

export interface ObservedTerm extends TermSeen {
  /** The holder's lease was held and its record said `leading` when this was seen; false for terms of the past. */
  readonly leading: boolean;
  /** Only of the present term. */
  readonly region?: string | undefined;
  readonly notes: Readonly<Record<string, string>>;
}

const lookCapMs = 5_000;

/**
 * Yields each term of an election in strictly increasing order, beginning with the present one, to anyone with read
 * rights, until the signal fires. The record keeps the last sixteen terms, so an observer that looks seldom misses
 * none up to there; what it did miss is counted in `missed`. Where the record was deleted or rolled back to older
 * terms, the next term yielded says `rolledBack: true` and the order begins anew with it.
 *
 * Looks only while the consumer waits. An outage is waited out; a refused identity throws `StorageError`, a blob
 * that holds something else throws `CorruptDataError` or `NewerVersionError`.
 */
export function observe(
  options: ObserveOptions,
  end: { readonly signal?: AbortSignal } = {},
): AsyncGenerator<ObservedTerm, void, void> {
  return observeOn(openPlace(options), options, end);
}

export async function* observeOn(
  ports: Pick<ElectionPorts, "lease" | "clock">,
  { name = "leader", everyMs = 1_000, after }: Omit<ObserveOptions, "connection">,
  { signal }: { readonly signal?: AbortSignal } = {},
): AsyncGenerator<ObservedTerm, void, void> {
  const lease = ports.lease(electionBlob(name));
  let memory: TermMemory = { last: after, known: after === undefined ? [] : [after.termid] };
  while (!signal?.aborted) {
    const reply = await cappedCall(ports.clock, lookCapMs, (cap) => lease.view({ signal: cap }), signal);
    if (reply.kind === "failed" && (isDenied(reply.error) || judge(reply.error) === "bug")) throw reply.error;
    if (reply.kind === "ok" && reply.value.kind === "found") {
      const sight = sightOf(reply.value);
      const record = recordOf(sight);
      if (record !== undefined) {
        const found = newTerms(record, memory);
        ({ memory } = found);
        for (const term of found.terms) {
          if (signal?.aborted) return;
          const present = term.termid === record.termid;
          const leading = present && record.state === "leading" && isHeld(sight);
          yield present
            ? { ...term, leading, region: whoLed(record, 0)?.region, notes: record.notes }
            : { ...term, leading, notes: {} };
        }
      }
    }
    await ports.clock.sleep(Math.max(100, everyMs), signal);
  }
}

function recordOf({ decoded }: Sight) {
  if (decoded.kind === "newer") throw new NewerVersionError("record-newer", decoded.reason);
  if (decoded.kind === "unreadable") throw new CorruptDataError("record-unreadable", decoded.reason);
  return decoded.kind === "record" ? decoded.record : undefined;
}
