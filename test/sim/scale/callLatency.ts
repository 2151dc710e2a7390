import type { Random } from "../../../src/engine/storage/ports.ts";
import { normal } from "../../support/durations.ts";

/**
 * How long one call to storage takes within a region, in ms: nine of ten between 10 and 60, half of them below 25,
 * the mean 28; and one of a thousand between half a second and one and a half. The shape is the log-normal one that
 * latencies have; the fat tail is what clients see of a server that moves a partition.
 */
export function callLatencyMs(random: Random): number {
  if (random.number() < slowShare) return slowMs * (0.5 + random.number());
  return medianMs * Math.exp(spread * normal(random));
}

const medianMs = 24.5;
/** So that 5 % lie below 10 ms and 5 % above 60. */
const spread = 0.545;
const slowShare = 0.001;
const slowMs = 1_000;
