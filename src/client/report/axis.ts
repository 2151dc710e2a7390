import { duration } from "../../model/figures.ts";

/** An axis of elapsed time from `fromMs`, drawn between `left` and `right`. */
export type TimeAxis = ReturnType<typeof timeAxis>;

const stepsS = [
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200],
  ...[86_400, 172_800, 604_800, 1_209_600, 2_592_000, 7_776_000, 31_536_000],
];
const ticksMax = 8;

export function timeAxis(fromMs: number, toMs: number, left: number, right: number) {
  const spanMs = Math.max(toMs - fromMs, 1);
  const x = (ms: number): number =>
    round(left + (Math.min(Math.max(ms - fromMs, 0), spanMs) / spanMs) * (right - left));
  const stepS = stepsS.find((step) => spanMs / 1_000 / step < ticksMax) ?? spanMs / 1_000;
  const ticks = Array.from({ length: Math.floor(spanMs / 1_000 / stepS) + 1 }, (_, index) => ({
    x: x(fromMs + index * stepS * 1_000),
    text: duration(index * stepS),
  }));
  return { x, fromMs, toMs, ticks };
}

/** Tenths of a pixel: more is not seen, and only makes the file larger. */
export const round = (value: number): number => Math.round(value * 10) / 10;
