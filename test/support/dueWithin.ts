import type { DueTimes } from "../../src/engine/model/dueTimes.ts";

/** Due times after `fromMs`, up to `toMs`, at most `max` of them. */
export function dueWithin(times: DueTimes, fromMs: number, toMs: number, max: number): number[] {
  const found: number[] = [];
  for (let at = times.nextAfter(fromMs); at !== undefined && at <= toMs; at = times.nextAfter(at)) {
    if (found.length === max) break;
    found.push(at);
  }
  return found;
}
