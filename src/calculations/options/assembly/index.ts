/**
 * The hot loops of the simulation with the roundings of ../javaScriptKernel.ts, two doubles at a time.
 * ../webAssemblyKernel.ts calls them; nothing is allocated here.
 */
export { fractions } from "./fractions";
export { bounds, columns, hits, normals, rests, roots, strideBytes, sums } from "./memory";
export { addPaths } from "./paths";
export { quantiles } from "./quantiles";
export { sumColumn } from "./sums";
