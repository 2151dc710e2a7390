import { type Expression, notWritten } from "./plan.ts";
import { distinctValues, rules } from "./rules.ts";
import type { Steps } from "./steps.ts";
import { filterText, writeArguments } from "./writeExpression.ts";

/** Aggregates for which values that are there twice count once by themselves. */
const withoutRepeats = /^(min|max|bool_and|bool_or|bit_and|bit_or)$/;

/** Aggregates of one argument whose answer does not depend on the order of the values. */
const unordered =
  /^(count|sum|avg|mean|favg|fsum|kahan_sum|sumkahan|product|bit_xor|var_pop|var_samp|variance|stddev|stddev_pop|stddev_samp)$/;

/** Types whose sum is exact or a double, from which the average follows. */
const averaged = /^(U?(TINY|SMALL|BIG)?INT|U?INTEGER|DECIMAL|FLOAT|DOUBLE|BOOLEAN)$/;

const pairs = /^(arg_(min|max)(_null)?|argmin|argmax|min_by|max_by|regr_.*|covar_.*|corr|approx_quantile)$/;

/**
 * The steps of an aggregate over columns; undefined where it has no small state, so that it needs all its rows. Throws
 * `NotWritten`.
 */
export function stepsOf(one: Expression, columns: readonly (string | undefined)[]): Steps | undefined {
  const { name = "", aggregate_type: kind, order_bys: orders, children = [] } = one;
  const filter = filterText(one, columns).trim().replace("FILTER (WHERE ", "filter (where ");
  const isDistinct = kind === "DISTINCT" && !withoutRepeats.test(name);
  if ((orders?.orders ?? []).length > 0) return undefined;
  if (name === "count_star") return rules.get(name)?.({ name, args: [], filter });
  const { texts: args, order } = writeArguments(one, columns);
  if (order !== "") return undefined;
  const [first] = args;
  if (isDistinct)
    return args.length === 1 && first !== undefined && unordered.test(name)
      ? distinctValues({ name, args: [first], filter })
      : undefined;
  const rule = rules.get(name);
  if (rule === undefined || args.length > (pairs.test(name) ? 2 : 1)) return undefined;
  const given = one.arguments?.[0]?.id ?? children[0]?.return_type?.id ?? "";
  if (/^(avg|mean|favg)$/.test(name) && (!averaged.test(given) || one.return_type?.id !== "DOUBLE"))
    return undefined;
  return rule({ name, args, filter });
}

/** How an aggregate is called in an error. */
export const calledAs = ({ name = notWritten("an aggregate") }: Expression): string => `${name}()`;
