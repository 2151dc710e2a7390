import type { Random } from "../../../src/engine/storage/ports.ts";
import type { ProxyFault } from "../faultProxy.ts";
import { seededRandom } from "../virtualClock.ts";

/**
 * What goes wrong, and when. Equal seeds give equal plans; whom `leader` means, and which request meets a fault of the
 * way, depends on the moment, so a run cannot be played again exactly.
 */
export interface ChaosPlan {
  readonly seed: number;
  readonly seconds: number;
  readonly events: readonly ChaosEvent[];
  /** What requests meet all the time. */
  readonly weather: readonly Weather[];
}

export type ChaosEvent = {
  /** From the beginning of the faults, in seconds. */
  readonly atS: number;
  /** What chooses among several instances, from 0 up to 1. */
  readonly draw: number;
} & (
  | { readonly kind: "kill" | "stop" | "block"; readonly whom: "leader" | "worker"; readonly forS: number }
  | { readonly kind: "break lease" }
  | { readonly kind: "garbage"; readonly texts: readonly string[] }
  | { readonly kind: "storm"; readonly forS: number; readonly share: number; readonly fault: ProxyFault }
);

/** A fault, and the share of requests that meet it. */
interface Weather {
  readonly fault: ProxyFault;
  readonly share: number;
}

/** Of all kinds one in each cycle, which takes less than a minute. */
const kinds = [
  ["kill", "leader"],
  ["kill", "worker"],
  ["stop", "leader"],
  ["stop", "worker"],
  ["block", "leader"],
  ["block", "worker"],
  ["break lease"],
  ["garbage"],
  ["storm"],
] as const;
const cycleS = 54;
const everyS = cycleS / kinds.length;

/** The service's own words, as its documentation lists them. */
const refusals: readonly ProxyFault[] = [
  { status: 503, code: "ServerBusy" },
  { status: 500, code: "InternalError" },
  { status: 500, code: "OperationTimedOut" },
];

const weather: readonly Weather[] = [
  { fault: { delayMs: 50 }, share: 0.04 },
  { fault: { delayMs: 700 }, share: 0.01 },
  { fault: "drop request", share: 0.005 },
  { fault: "drop reply", share: 0.005 },
  { fault: "twice", share: 0.005 },
  { fault: { delayMs: 2_500, again: true }, share: 0.002 },
  ...refusals.map((fault) => ({ fault, share: 0.003 })),
];

/** Pauses that a lease outlives, and such that it does not: a leader is replaced after 4 s without a heartbeat. */
const stopS = [2, 18] as const;
const downS = [0.5, 4] as const;
const stormS = [2, 6] as const;

export function planChaos(seed: number, seconds: number): ChaosPlan {
  const random = seededRandom(seed);
  const between = ([low, high]: readonly [number, number]): number =>
    Math.round(10 * (low + (high - low) * random.number())) / 10;
  const events: ChaosEvent[] = [];
  for (let cycle = 0; cycle * cycleS < seconds; cycle += 1) {
    const shuffled = kinds
      .map((one) => ({ one, at: random.number() }))
      .toSorted((a, b) => a.at - b.at)
      .map(({ one }) => one);
    for (const [place, [kind, whom = "leader"]] of shuffled.entries()) {
      const atS = Math.round(10 * (cycle * cycleS + (place + random.number() / 2) * everyS)) / 10;
      const of = { atS, draw: random.number() };
      if (kind === "kill") events.push({ ...of, kind, whom, forS: between(downS) });
      else if (kind === "stop") events.push({ ...of, kind, whom, forS: between(stopS) });
      else if (kind === "block") events.push({ ...of, kind, whom, forS: blockedS });
      else if (kind === "garbage") events.push({ ...of, kind, texts: garbage(random) });
      else if (kind === "storm") events.push({ ...of, kind, forS: between(stormS), ...stormOf(random) });
      else events.push({ ...of, kind });
    }
  }
  return { seed, seconds, events: events.filter(({ atS }) => atS < seconds), weather };
}

/** The seam blocks for one length (`loopSeam.ts`): a signal carries no number. */
export const blockedS = 9;

const stormOf = (random: Random) => ({
  share: random.number() < 0.5 ? 1 : 0.4,
  fault: refusals[Math.floor(random.number() * refusals.length)] ?? "drop request",
});

/**
 * Texts that no version of the app wrote. None claims to be of a newer version: such a message is put back until somebody
 * understands it (rule *versions*), so it would stay.
 */
function garbage(random: Random): string[] {
  const noise = Array.from({ length: 200 }, () =>
    String.fromCodePoint(32 + Math.floor(random.number() * 94)),
  );
  const tag = random.uuid();
  return [
    noise.join(""),
    `{"v":1,"kind":"compute","run":"${tag}"`,
    `{"v":1,"kind":"${tag}"}`,
    `["${tag}"]`,
    `{"v":"1","kind":"compute","run":"../${tag}","uid":null,"gen":-1,"send":1e99}`,
    `"${tag.repeat(200)}"`,
  ];
}

/** The fault that a request meets, by a draw from 0 up to 1. */
export function faultAt(weather: readonly Weather[], draw: number): ProxyFault {
  let below = 0;
  for (const { fault, share } of weather) {
    below += share;
    if (draw < below) return fault;
  }
  return "none";
}

/** One line of the printed plan. */
export function describeEvent(event: ChaosEvent): string {
  const at = `${event.atS.toFixed(1)} s`.padStart(8);
  if (event.kind === "garbage") return `${at}  ${event.texts.length} texts of garbage to each queue`;
  if (event.kind === "storm")
    return `${at}  ${Math.round(100 * event.share)} % of requests meet ${JSON.stringify(event.fault)} for ${event.forS} s`;
  if (event.kind === "break lease") return `${at}  the lease is broken`;
  return `${at}  ${event.kind} a ${event.whom} for ${event.forS} s`;
}
