import { CalculationError } from "../../../model/errors.ts";
import { aggregateLimits } from "../limits.ts";
import type { Offender } from "../records.ts";

/** What was read, and what of it was left out. */
export interface Report {
  readonly records: number;
  readonly bytes: number;
  /** Records that the filter let through. */
  readonly selected: number;
  /** Records that were left out because they have another number of fields than the header. */
  readonly skipped: Incidents;
  /** Fields that should be numbers and are none; they count as empty. */
  readonly badNumbers: Incidents;
  /** The wanted columns that no record had. */
  readonly absent: readonly string[];
}

/** How many there were, and the first of them in the order of the files. */
export interface Incidents {
  readonly count: number;
  readonly first: readonly Offender[];
}

export const incidents = (count: number, offenders: readonly Offender[]): Incidents => ({
  count,
  first: offenders
    .slice(0, aggregateLimits.offendersMax)
    .map(({ path, offset, what }) => ({ path, offset, what: shortened(what) })),
});

export const mergeReports = (a: Report, b: Report): Report => ({
  records: a.records + b.records,
  bytes: a.bytes + b.bytes,
  selected: a.selected + b.selected,
  skipped: mergeIncidents(a.skipped, b.skipped),
  badNumbers: mergeIncidents(a.badNumbers, b.badNumbers),
  absent: a.absent.filter((name) => b.absent.includes(name)),
});

const mergeIncidents = (a: Incidents, b: Incidents): Incidents =>
  incidents(a.count + b.count, [...a.first, ...b.first]);

/** A report must stay small whatever a file holds. */
const shortened = (text: string): string => (text.length <= 200 ? text : `${text.slice(0, 199)}…`);

const cure = "group by fewer columns or coarser ones, or let fewer rows through with where";

export const tooManyGroups = (): CalculationError =>
  new CalculationError(
    "too-many-groups",
    `there are more than ${aggregateLimits.groupsMax} groups, the limit (groupsMax); ${cure}`,
  );

export const tooManyBytes = (groups: number): CalculationError =>
  new CalculationError(
    "too-many-groups",
    `the ${groups} groups so far need more than ${aggregateLimits.partialBytesMax} bytes, the limit ` +
      `(partialBytesMax); ${cure}, or leave out distinct, quantile or top`,
  );
