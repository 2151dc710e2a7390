import type { State, Steps } from "./steps.ts";

/** Aggregates whose state has a bounded size, and whose answer is near. */

/** Counts of values as a map, merged by adding those of the same value. */
export const histogram = (value: string, filter: string): State => ({
  map: `histogram(${value}) ${filter}`,
  reduce: (column) => `flatten(list(map_entries(${column})) filter (where ${column} is not null))`,
  tidy: (merged) =>
    "(select map_from_entries(list({k: key, v: n} order by key)) from (select e.key as key, sum(e.value)::ubigint as n " +
    `from (select unnest(${merged}) as e) group by key) having count(*) > 0)`,
});

/** Relative error of `approx_quantile`. */
const error = 1 / 128;
const growth = (1 + error) / (1 - error);
/** Above the bucket of the least double, so that no bucket of a positive value is 0 or negative. */
const least = 48_000;

/**
 * Quantiles by a histogram of logarithmic buckets, as DDSketch has them (Masson, Rim and Lee, 2019): the answer is at most
 * 1/128 off the value at that rank, relative to it.
 */
export function approximateQuantile([x, share]: readonly string[], filter: string): Steps | undefined {
  if (share === undefined || !/^[\d.]+$/.test(share)) return undefined;
  const value = `cast(${x} as double)`;
  const distance = `ceil(ln(least(abs(${value}), 1.7e308)) / ${Math.log(growth)})::int + ${least}`;
  const bucket = `case when ${value} = 0 then 0 when not isnan(${value}) then sign(${value})::int * (${distance}) end`;
  const ranked =
    "select e.key as key, sum(e.value) over (order by e.key) as upto, sum(e.value) over () as total";
  const size = `${2 / (growth + 1)} * exp((abs(key) - ${least}) * ${Math.log(growth)})`;
  return {
    states: [histogram(bucket, filter)],
    finish: ([state]) =>
      `(select case when key = 0 then 0.0 else sign(key) * ${size} end::double from (${ranked} ` +
      `from (select unnest(map_entries(${state})) as e)) where upto >= greatest(1, ceil(${share} * total)) order by key limit 1)`,
  };
}

const registers = 2048;
/** Bits of a register: one for each rank that it has seen. */
const ranks = 32;

/**
 * The number of different values as HyperLogLog estimates it (Flajolet and others, 2007), with a standard error of 2.3 %.
 * Registers keep all their ranks, so that merging is OR.
 */
export function approximateCount([x]: readonly string[], filter: string): Steps {
  const rest = `((hash(${x}) >> 11) | ${2 ** 40})::bigint`;
  const rank = `least(bit_count(xor(${rest}, ${rest} - 1)), ${ranks - 1})`;
  const bit = `case when (${x}) is not null then ((hash(${x}) & ${registers - 1}) * ${ranks} + ${rank})::bigint end`;
  const m = `${registers}e0`;
  const raw = `${(0.7213 / (1 + 1.079 / registers)) * registers ** 2}e0 / z`;
  return {
    states: [
      {
        map: `bitstring_agg(${bit}, 0, ${registers * ranks - 1}) ${filter}`,
        reduce: (column) => `bit_or(${column})`,
      },
    ],
    finish: ([state]) =>
      `coalesce((select round(case when ${raw} < 2.5 * ${m} and empty > 0 then ${m} * ln(${m} / empty) else ${raw} end)::bigint ` +
      `from (select sum(2e0 ** -greatest(seen - 1, 0)) as z, count(*) filter (where seen = 0) as empty from (select ` +
      `length(rtrim(substr(${state}::varchar, (r * ${ranks} + 1)::bigint, ${ranks}), '0')) as seen from range(${registers}) as t(r)) where seen is not null)), 0)`,
  };
}
