import { type LeaderRecord, lastTermsMax, type PastTerm } from "../record.ts";
import { whoLed } from "../whoLed.ts";

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
