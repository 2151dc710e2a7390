import { CorruptDataError, NewerVersionError } from "../../model/errors.ts";
import { electionBlob } from "../../model/names.ts";
import { cappedCall } from "../cappedCall.ts";
import { isDenied, judge } from "../judge.ts";
import { isHeld, type Sight, sightOf, whoLed } from "../record/leaderView.ts";
import { type LeaderRecord, lastTermsMax, type PastTerm } from "../record/record.ts";
import { type ElectionPlace, type ElectionPorts, openPlace } from "./place.ts";

/** One term as an observer is told of it. */
export interface TermSeen extends PastTerm {
  /** Terms between the one told before and this one that nobody can tell any more; at most so many. */
  readonly missed: number;
  /** The record shows an older or another history than before: the order begins anew with this term. */
  readonly rolledBack: boolean;
}

/** What an observer has told so far. */
export interface TermMemory {
  readonly last: { readonly term: number; readonly termid: string } | undefined;
  /** Term ids told before, the latest last. */
  readonly known: readonly string[];
}

/** More than a record holds, so that a record rolled back by a whole history is still recognised. */
const knownMax = 4 * lastTermsMax;

/** Which terms of this record are news to an observer. Pure: a record may be seen again at no cost. */
export function newTerms(
  record: LeaderRecord,
  memory: TermMemory,
): { readonly terms: readonly TermSeen[]; readonly memory: TermMemory } {
  const history = historyOf(record);
  const present = history.at(-1);
  const { last } = memory;
  if (present === undefined || present.termid === last?.termid) return { terms: [], memory };
  if (last === undefined) return remember(memory, [{ ...present, missed: 0, rolledBack: false }]);

  const at = history.findIndex((one) => one.termid === last.termid);
  if (at >= 0) return remember(memory, history.slice(at + 1).map(inOrder));

  // A history is a run of claims one after the other. If it begins after the term told last, those between are
  // gone; if it begins before that term and lacks it, it is another history.
  const first = history[0] ?? present;
  if (first.term > last.term) {
    const missed = first.term - last.term - 1;
    return remember(memory, marked(history, { missed, rolledBack: false }));
  }
  const common = history.findLastIndex((one) => memory.known.includes(one.termid));
  const after = common < 0 ? [] : history.slice(common + 1);
  return remember(memory, marked(after.length > 0 ? after : [present], { missed: 0, rolledBack: true }));
}

const marked = (
  terms: readonly PastTerm[],
  mark: { readonly missed: number; readonly rolledBack: boolean },
): readonly TermSeen[] => terms.map((one, index) => (index === 0 ? { ...one, ...mark } : inOrder(one)));

const inOrder = (one: PastTerm): TermSeen => ({ ...one, missed: 0, rolledBack: false });

/** The list of a record that had to be cut short may even lack its own term. */
function historyOf(record: LeaderRecord): readonly PastTerm[] {
  const { term, termid, lastTerms } = record;
  const led = whoLed(record, 0);
  if (led === undefined) return [];
  const { holder, sinceMs } = led;
  return lastTerms.some((one) => one.termid === termid)
    ? lastTerms
    : [...lastTerms, { term, termid, holder, sinceMs }];
}

function remember(memory: TermMemory, terms: readonly TermSeen[]) {
  const last = terms.at(-1) ?? memory.last;
  const known = [...memory.known, ...terms.map((one) => one.termid)].slice(-knownMax);
  return { terms, memory: { last: last && { term: last.term, termid: last.termid }, known } };
}

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
