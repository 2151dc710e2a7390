/**
 * The hot loops of the simulation, two doubles at a time, and its elementary functions for one. ../simulate.ts and
 * ../kernel.ts call them; nothing is allocated here.
 */
export { exponential, logarithm } from "./elementary";
export { fractions } from "./fractions";
export { columns, hits, normals, rests, strideBytes, sums } from "./memory";
export { addPaths } from "./paths";
export { quantile, quantiles } from "./quantiles";
export { sumColumn } from "./sums";
