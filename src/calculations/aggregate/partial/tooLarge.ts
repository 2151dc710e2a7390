import { CalculationError } from "../../../model/errors.ts";
import { aggregateLimits } from "../limits.ts";

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
