import { beforeAll, describe, expect, it } from "vitest";
import { type Estimated, estimated, shares } from "./estimatedRuns.ts";
import { type Family, families, sudden } from "./runFamilies.ts";

/** Runs of each family; each is estimated at up to five shares. */
const runs = 200;

const names = Object.keys(families) as Family[];
const gradual = names.filter((family) => !sudden.includes(family));
const results = new Map<Family, readonly Estimated[]>();
const of = (family: Family): readonly Estimated[] => results.get(family) ?? [];

beforeAll(() => {
  for (const family of names) results.set(family, estimated(family, runs));
});

type Told = Estimated & { readonly told: NonNullable<Estimated["told"]> };
const told = (of: readonly Estimated[]): Told[] => of.filter((one): one is Told => one.told !== undefined);

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** Percent of the bands that hold the truth. */
function coverage(of: readonly Estimated[]): number {
  const known = told(of);
  const held = known.filter(({ told: { lowS, highS }, truthS }) => lowS <= truthS && truthS <= highS);
  return (100 * held.length) / known.length;
}

/** How many times its low end the high end of the band is, in the median. */
const width = (of: readonly Estimated[]): number =>
  median(told(of).map(({ told: { lowS, highS } }) => highS / Math.max(lowS, 0.05)));

/** For a failure: coverage and width of each family, in all and at each share. */
function table(): string {
  const cell = (some: readonly Estimated[]) => `${coverage(some).toFixed(0)} % ×${width(some).toFixed(2)}`;
  const at = (family: Family, share: number) => cell(of(family).filter((one) => one.share === share));
  const rows = names.map((family) => {
    const cells = shares.map((share) => `${share}: ${at(family, share)}`);
    return `${family.padEnd(16)} ${cell(of(family))} | ${cells.join(" | ")}`;
  });
  return rows.join("\n");
}

describe("the band of the remaining time, once a fifth of the packs has ended", () => {
  it.each(gradual)("holds the truth in at least three of four cases: %s", (family) => {
    expect(coverage(of(family)), table()).toBeGreaterThanOrEqual(75);
  });

  it("holds the truth in at least four of five cases over all families, sudden changes included", () => {
    expect(coverage(names.flatMap(of)), table()).toBeGreaterThanOrEqual(80);
  });

  it.each(sudden)("holds the truth again a fifth of the packs after a sudden change: %s", (family) => {
    const after = of(family).filter(({ share }) => share >= 0.7);
    expect(coverage(after), table()).toBeGreaterThanOrEqual(75);
  });

  it("ends at four times its beginning or less in the median, except for runs of few rounds", () => {
    const tooWide = names.filter((family) => width(of(family)) > (family === "uniform" ? 1.5 : 4));
    // With few rounds, the packs in flight may be the last ones or a third of them.
    expect(tooWide, table()).toEqual(["fewRounds"]);
  });

  it("is present in all cases except in the first seconds of a run", () => {
    const silent = names.flatMap(of).filter((one) => one.told === undefined);
    expect(silent.filter(({ elapsedS }) => elapsedS >= 5)).toEqual([]);
  });

  it("contains the expected time, which is too short about as often as too long", () => {
    const known = told(gradual.flatMap(of));
    const outside = known.filter(
      ({ told: { lowS, expectedS, highS } }) => expectedS < lowS || expectedS > highS,
    );
    expect(outside).toEqual([]);
    const later = known.filter(({ truthS, told: { expectedS } }) => truthS > expectedS).length / known.length;
    expect(later, table()).toBeGreaterThan(0.35);
    expect(later, table()).toBeLessThan(0.65);
  });
});
