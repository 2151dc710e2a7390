import { CorruptDataError, OtherVersionError } from "../../engine/model/errors.ts";
import { electionBlob } from "../../engine/model/names.ts";
import { cappedCall } from "../cappedCall.ts";
import { classifyFailure } from "../leaseFailure.ts";
import { isHeld, type Poll, pollOf } from "../record/leaderView.ts";
import { type LeaderRecord, lastTermsMax, type PastTerm } from "../record/record.ts";
import { type ElectionLocation, type ElectionPorts, openElection } from "./electionPorts.ts";

interface TermSeen extends PastTerm {
  /** At most so many terms between the previous one and this one are no longer in the record. */
  readonly missed: number;
  /** The record shows an older or another history than before: the order begins anew with this term. */
  readonly rolledBack: boolean;
}

/** What an observer has yielded so far. */
export interface ObserverProgress {
  readonly last: { readonly term: number; readonly termid: string } | undefined;
  /** Term ids yielded before, the latest last. */
  readonly known: readonly string[];
}

/** More than a record holds, so that a record rolled back by a whole history is still recognized. */
const knownMax = 4 * lastTermsMax;

/** The terms of this record that an observer has not yielded yet. Pure: a record may be passed again. */
export function newTerms(
  record: LeaderRecord,
  progress: ObserverProgress,
): { readonly terms: readonly TermSeen[]; readonly progress: ObserverProgress } {
  const history = historyOf(record);
  const present = history.at(-1);
  const { last } = progress;
  if (present === undefined || present.termid === last?.termid) return { terms: [], progress };
  if (last === undefined) return advance(progress, [{ ...present, missed: 0, rolledBack: false }]);

  const at = history.findIndex((one) => one.termid === last.termid);
  if (at >= 0) return advance(progress, history.slice(at + 1).map(inOrder));

  // A history is an unbroken sequence of claims. If it begins after the last term yielded, those between are gone;
  // if it begins before that term and lacks it, it is another history.
  const first = history[0] ?? present;
  if (first.term > last.term) {
    const missed = first.term - last.term - 1;
    return advance(progress, marked(history, { missed, rolledBack: false }));
  }
  const common = history.findLastIndex((one) => progress.known.includes(one.termid));
  const after = common < 0 ? [] : history.slice(common + 1);
  return advance(progress, marked(after.length > 0 ? after : [present], { missed: 0, rolledBack: true }));
}

const marked = (
  terms: readonly PastTerm[],
  mark: { readonly missed: number; readonly rolledBack: boolean },
): readonly TermSeen[] => terms.map((one, index) => (index === 0 ? { ...one, ...mark } : inOrder(one)));

const inOrder = (one: PastTerm): TermSeen => ({ ...one, missed: 0, rolledBack: false });

/** The list of a shortened record may even lack its own term. */
function historyOf(record: LeaderRecord): readonly PastTerm[] {
  const { term, termid, holder, sinceMs, cameBy, lastTerms } = record;
  return lastTerms.some((one) => one.termid === termid)
    ? lastTerms
    : [...lastTerms, { term, termid, holder, sinceMs, cameBy }];
}

function advance(progress: ObserverProgress, terms: readonly TermSeen[]) {
  const last = terms.at(-1) ?? progress.last;
  const known = [...progress.known, ...terms.map((one) => one.termid)].slice(-knownMax);
  return { terms, progress: { last: last && { term: last.term, termid: last.termid }, known } };
}

export interface ObserveOptions extends ElectionLocation {
  /** Of the election. Default `leader`, the one of Leasefold's own app. */
  readonly name?: string;
  /** Time between two polls, at least 100. Default 1,000. Each poll costs one HEAD. */
  readonly everyMs?: number;
  /** Begin after this term, as an earlier observer saw it, instead of with the present one. */
  readonly after?: { readonly term: number; readonly termid: string };
}

export interface ObservedTerm extends TermSeen {
  /** The holder's lease was held and its record was `leading` at that poll; false for past terms. */
  readonly leading: boolean;
  /** Only of the present term. */
  readonly region?: string | undefined;
  readonly notes: Readonly<Record<string, string>>;
}

const pollCapMs = 5_000;

/**
 * Yields each term of an election in strictly increasing order, beginning with the present one, to anyone with read
 * rights, until the signal fires. The record keeps the last sixteen terms, so an observer that polls seldom misses
 * none up to there; the others are counted in `missed`. Where the record was deleted or rolled back to older terms,
 * the next term yielded has `rolledBack: true` and the order begins anew with it.
 *
 * Polls only while the consumer waits, outages included. A refused identity throws `StorageError`; a blob that holds
 * something else throws `CorruptDataError` or `OtherVersionError`.
 */
export function observe(
  options: ObserveOptions,
  end: { readonly signal?: AbortSignal } = {},
): AsyncGenerator<ObservedTerm, void, void> {
  return observeOn(openElection(options), options, end);
}

export async function* observeOn(
  ports: Pick<ElectionPorts, "lease" | "clock">,
  { name = "leader", everyMs = 1_000, after }: Omit<ObserveOptions, "connection">,
  { signal }: { readonly signal?: AbortSignal } = {},
): AsyncGenerator<ObservedTerm, void, void> {
  const lease = ports.lease(electionBlob(name));
  let progress: ObserverProgress = { last: after, known: after === undefined ? [] : [after.termid] };
  while (!signal?.aborted) {
    const reply = await cappedCall(ports.clock, pollCapMs, (cap) => lease.view({ signal: cap }), signal);
    if (reply.kind === "failed" && ["denied", "bug"].includes(classifyFailure(reply.error)))
      throw reply.error;
    const poll = reply.kind === "ok" && reply.value.kind === "found" ? pollOf(reply.value) : undefined;
    const record = poll && recordOf(poll);
    if (poll !== undefined && record !== undefined) {
      const found = newTerms(record, progress);
      ({ progress } = found);
      for (const term of found.terms) {
        if (signal?.aborted) return;
        const present = term.termid === record.termid;
        const leading = present && record.state === "leading" && isHeld(poll);
        yield present
          ? { ...term, leading, region: record.region, notes: record.notes }
          : { ...term, leading, notes: {} };
      }
    }
    await ports.clock.sleep(Math.max(100, everyMs), signal);
  }
}

function recordOf({ decoded }: Poll) {
  if (decoded.kind === "newer") throw new OtherVersionError("record-newer", decoded.reason);
  if (decoded.kind === "unreadable") throw new CorruptDataError("record-unreadable", decoded.reason);
  return decoded.kind === "record" ? decoded.record : undefined;
}
