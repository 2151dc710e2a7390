import type { LeaderRecord, Led } from "./record.ts";

/**
 * Who led the term of a record that was last written at `writtenMs`; `undefined` where nobody has led yet. Only a
 * claim changes it: a contender that polls and claims nothing writes its own name as the holder, and this beside it.
 */
export function whoLed(record: LeaderRecord, writtenMs: number): Led | undefined {
  if (record.term === 0) return undefined;
  if (record.led !== undefined) return record.led;
  const { holder, region, sinceMs, cameBy } = record;
  const claim = record.lastTerms.find((one) => one.termid === record.termid);
  // An older version that polled left its own name and time, and nothing else of the leader but this list.
  if (claim !== undefined && (claim.holder !== holder || claim.sinceMs !== sinceMs)) {
    return { holder: claim.holder, sinceMs: claim.sinceMs };
  }
  return { holder, ...(region === undefined ? {} : { region }), sinceMs, cameBy, untilMs: writtenMs };
}
