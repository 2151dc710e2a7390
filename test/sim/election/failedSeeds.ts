/**
 * Seeds that failed once, with what they showed. They run first, whatever range is asked for. What a seed plays
 * changes when the simulation draws in another order; the mutants then still guard what was found.
 */
export const failedSeeds: ReadonlyArray<readonly [number, string]> = [
  [
    44,
    "An acquire that was held up for 12 s arrived after its lease had been given back, and took the lease again for an id that nobody used any more; a late `ended` of term 7 then replaced the record of term 8.",
  ],
];
