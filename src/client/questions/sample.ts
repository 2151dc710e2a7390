import { InputError } from "../../model/errors.ts";
import { type Layout, packsOf, type Range, sizeOf } from "../../model/packs.ts";
import type { Manifest } from "../../model/run.ts";
import { clientLimits } from "../clientLimits.ts";

/** How many packs of a run are to be looked at: so many, or a share of them. */
export type Sample = { readonly packs: number } | { readonly percent: number };

export const sampleDefault: Sample = { percent: 1 };

/** `25` packs or `1%` of them; throws `InputError` naming the rule. */
export function parseSample(text: string): Sample {
  const value = Number(text.replace(/\s*%$/, ""));
  const given = text.trim() !== "" && Number.isFinite(value) && value > 0;
  if (given && text.endsWith("%") && value <= 100) return { percent: value };
  if (given && !text.endsWith("%") && Number.isInteger(value) && value <= clientLimits.verifyPacksMax)
    return { packs: value };
  throw new InputError(
    "invalid",
    "bad-sample",
    `sample: ${text} is neither a number of packs from 1 to ${clientLimits.verifyPacksMax} (verifyPacksMax) nor a ` +
      "share such as 1%, up to 100%",
    { field: "sample" },
  );
}

/** Packs to draw of so many: rounded up, so that a share of a small run is at least one; never more than the limit. */
export function sampleSize(sample: Sample, packs: number): number {
  const wanted = "packs" in sample ? sample.packs : Math.ceil((packs * sample.percent) / 100);
  return Math.min(wanted, packs, clientLimits.verifyPacksMax);
}

/** Ranges of the packs that the result folded, ascending. A gap always misses whole packs. */
export function foldedPacks(layout: Layout, { missing }: Pick<Manifest, "missing">): Range[] {
  const folded: Range[] = [];
  let from = 0;
  for (const gap of missing) {
    folded.push({ from, to: Math.floor(gap.from / layout.packSize) });
    from = Math.ceil(gap.to / layout.packSize);
  }
  folded.push({ from, to: packsOf(layout) });
  return folded.filter((range) => sizeOf(range) > 0);
}

/** Draws different packs out of the ranges, each as likely as any other (R. Floyd's way); ascending. */
export function drawPacks(ranges: readonly Range[], count: number, random: () => number): number[] {
  const all = ranges.reduce((sum, range) => sum + sizeOf(range), 0);
  const drawn = new Set<number>();
  for (let top = all - Math.min(count, all); top < all; top += 1) {
    const place = Math.floor(random() * (top + 1));
    drawn.add(drawn.has(place) ? top : place);
  }
  const places = [...drawn].sort((a, b) => a - b);
  const packs: number[] = [];
  let before = 0;
  for (const range of ranges) {
    const inside = places.filter((place) => place >= before && place < before + sizeOf(range));
    packs.push(...inside.map((place) => range.from + place - before));
    before += sizeOf(range);
  }
  return packs;
}
