import { beforeAll, describe, expect, it } from "vitest";
import { type Family, families, sudden } from "./timeLeftFamilies.ts";
import { type Judged, judged, shares } from "./timeLeftSuite.ts";

/** Runs of each family; each is asked about at up to five shares. */
const runs = 200;

const names = Object.keys(families) as Family[];
const foreseeable = names.filter((family) => !sudden.includes(family));
const found = new Map<Family, readonly Judged[]>();
const of = (family: Family): readonly Judged[] => found.get(family) ?? [];

beforeAll(() => {
  for (const family of names) found.set(family, judged(family, runs));
}, 60_000);

type Told = Judged & { readonly told: NonNullable<Judged["told"]> };
const told = (of: readonly Judged[]): Told[] => of.filter((one): one is Told => one.told !== undefined);

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** Percent of the bands that hold the truth. */
function coverage(of: readonly Judged[]): number {
  const known = told(of);
  const held = known.filter(({ told: { lowS, highS }, truthS }) => lowS <= truthS && truthS <= highS);
  return (100 * held.length) / known.length;
}

/** How many times its low end the high end of the band is, in the median. */
const width = (of: readonly Judged[]): number =>
  median(told(of).map(({ told: { lowS, highS } }) => highS / Math.max(lowS, 0.05)));

/** For a failure: coverage and width of each family, in all and at each share. */
function table(): string {
  const cell = (some: readonly Judged[]) => `${coverage(some).toFixed(0)} % ×${width(some).toFixed(2)}`;
  const at = (family: Family, share: number) => cell(of(family).filter((one) => one.share === share));
  const rows = names.map((family) => {
    const cells = shares.map((share) => `${share}: ${at(family, share)}`);
    return `${family.padEnd(16)} ${cell(of(family))} | ${cells.join(" | ")}`;
  });
  return rows.join("\n");
}

describe("the band of the time left, once a fifth is done", () => {
  it.each(foreseeable)("holds the truth in three of four cases or more: %s", (family) => {
    expect(coverage(of(family)), table()).toBeGreaterThanOrEqual(75);
  });

  it("holds it in three of four cases or more over all of them, sudden changes included", () => {
    expect(coverage(names.flatMap(of)), table()).toBeGreaterThanOrEqual(75);
  });

  it.each(sudden)("holds it again a fifth of the packs after a sudden change: %s", (family) => {
    const after = of(family).filter(({ share }) => share >= 0.7);
    expect(coverage(after), table()).toBeGreaterThanOrEqual(75);
  });

  it("is not silly: half of the bands end at no more than four times where they begin", () => {
    const tooWide = names.filter((family) => width(of(family)) > (family === "uniform" ? 1.5 : 4));
    // With few rounds, the packs under way may be the last ones or a third of them.
    expect(tooWide, table()).toEqual(["fewRounds"]);
  });

  it("is there in all cases but those asked about in the first seconds of a run", () => {
    const silent = names.flatMap(of).filter((one) => one.told === undefined);
    expect(silent.filter(({ elapsedS }) => elapsedS >= 5)).toEqual([]);
  });

  it("has the expected time within it, and as often before what comes as after", () => {
    const known = told(foreseeable.flatMap(of));
    const outside = known.filter(
      ({ told: { lowS, expectedS, highS } }) => expectedS < lowS || expectedS > highS,
    );
    expect(outside).toEqual([]);
    const later = known.filter(({ truthS, told: { expectedS } }) => truthS > expectedS).length / known.length;
    expect(later, table()).toBeGreaterThan(0.35);
    expect(later, table()).toBeLessThan(0.65);
  });
});
