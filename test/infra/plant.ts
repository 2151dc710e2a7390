import type { RuleName } from "../../scripts/infra/syntax.ts";

/** One mistake: in `file`, `from` becomes `to`, and the rule that has to say so. */
export interface Plant {
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly rule: RuleName;
  readonly says: RegExp;
}

export const plant = (file: string, from: string, to: string, rule: RuleName, says: RegExp): Plant => ({
  ...{ file, from, to, rule, says },
});
