/** The seed of whatever `npm run test:deep` and `npm run fuzz` draw, from `LEASEFOLD_SEED`; undefined in `npm test`, which plays what is fixed. */
export const drawnSeed =
  process.env["LEASEFOLD_SEED"] === undefined ? undefined : Number(process.env["LEASEFOLD_SEED"]);
