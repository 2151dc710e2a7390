/**
 * Seeds that failed once, with what they showed. They run first, whatever range is asked for. What a seed plays
 * changes when the code or the simulation draws in another order; the mutants then still guard what was found.
 */
export const failedSeeds: ReadonlyArray<readonly [number, string]> = [
  [
    296,
    "Messages were burnt into poison during a pause, and the leader replaced them under the turn of the pause.",
  ],
  [-621, "A final state without a reply was followed by an earlier one at the end of the term."],
  [231, "A pause that nobody answered any more gave its number and turn to the retry after it."],
  [
    2_000_219,
    "A partial with gaps was written after its record was refused, so nothing said why chunks were missing.",
  ],
  [2_000_251, "Workers dropped the work of a state that was put back to a generation before its marker's."],
  [2_100_280, "A retry's packs were dropped without a record because the plan had been deleted."],
  [5_000_451, "A late message of a plan that was rolled back replaced partials of the plan after it."],
  [
    -99_023,
    "A run at its max cost rested while instances with other code put its packs back, again and again.",
  ],
  [
    6_000_539,
    "A run at its max cost never rested, because nobody recorded that its packs had been taken and lost.",
  ],
];
