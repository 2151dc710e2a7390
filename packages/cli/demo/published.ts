/** Numbers of primes: powers of ten from oeis.org/A006880, the others from primesieve 11 (github.com/kimwalisch/primesieve). */
export const publishedCounts: ReadonlyMap<number, number> = new Map([
  [1e1, 4],
  [1e2, 25],
  [1e3, 168],
  [1e4, 1_229],
  [1e5, 9_592],
  [1e6, 78_498],
  [1e7, 664_579],
  [1e8, 5_761_455],
  [1e9, 50_847_534],
  [1e10, 455_052_511],
  [2e10, 882_206_716],
  [3e10, 1_300_005_926],
  [5e10, 2_119_654_578],
  [1e11, 4_118_054_813],
  [2e11, 8_007_105_059],
  [3e11, 11_818_439_135],
  [5e11, 19_308_136_142],
  [1e12, 37_607_912_018],
]);

/** One core counts so many in some 13 s (docs/BENCH.md: two take 12.5 s for 10¹¹): time for a kill and a takeover. */
const perCore = 5e10;

/** The largest value with a published count that so many cores count in that time, or a little less. */
export const valueFor = (cores: number): number =>
  Math.max(...[...publishedCounts.keys()].filter((to) => to <= Math.max(1, cores) * perCore));
