import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startAzurite } from "../../packages/cli/local/azurite.ts";
import { billingClasses, type CallCounts, dollarsOf, subtractCalls } from "../../src/engine/model/calls.ts";
import type { Bench, BenchResult } from "./bench.ts";
import { buildContender, type ContenderGroup, contenderGroup, nowMs, size } from "./contenderGroup.ts";
import { quantile } from "./quantile.ts";

/** One way to take over. Settings are the app's own, unless said here. */
export interface Case {
  readonly name: string;
  readonly about: string;
  readonly ends: number;
  /** Side by side, each in a namespace of its own, to save time. */
  readonly groups: number;
  readonly signal: "SIGKILL" | "SIGTERM";
  readonly env: Readonly<Record<string, string>>;
  /** In seconds; of the 99th percentile, or of the median. */
  readonly bound: { readonly of: "p50" | "p99"; readonly s: number };
  /** A leader is ended at a random moment of this length, after it has led for two seconds. */
  readonly spreadMs: number;
}

/** As `leasefold up` and the demo run it: see packages/cli/local/instanceEnv.ts. */
export const embedded = {
  BENCH_TICK_MS: "2000",
  BENCH_QUEUE_MS: "2000",
  LEASEFOLD_WATCH: "true",
  LEASEFOLD_LOOP_MS: "500",
};

const cases: readonly Case[] = [
  {
    name: "watching",
    about: "killed; others poll twice a second",
    ends: 100,
    groups: 2,
    signal: "SIGKILL",
    env: embedded,
    bound: { of: "p99", s: 5 },
    spreadMs: 1_500,
  },
  {
    name: "woken",
    about: "killed; the dead-man's wake surfaces (6 s) in a queue polled each 2 s",
    ends: 30,
    groups: 1,
    signal: "SIGKILL",
    env: { BENCH_TICK_MS: "60000", BENCH_QUEUE_MS: "2000" },
    bound: { of: "p99", s: 6 + 2 + 1 },
    spreadMs: 2_000,
  },
  {
    name: "ticking",
    about: "killed; others poll with their timer, each 5 s",
    ends: 30,
    groups: 1,
    signal: "SIGKILL",
    env: { BENCH_TICK_MS: "5000", BENCH_QUEUE_MS: "0" },
    bound: { of: "p99", s: 5 + 5 },
    spreadMs: 5_000,
  },
  {
    name: "expiry",
    about: "killed; early takeover off, others poll twice a second",
    ends: 30,
    groups: 2,
    signal: "SIGKILL",
    env: { ...embedded, LEASEFOLD_EARLY_TAKEOVER: "false" },
    // The lease, one look, and a margin for the calls.
    bound: { of: "p99", s: 15 + 0.5 + 0.5 },
    spreadMs: 5_000,
  },
  {
    name: "handover",
    about: "asked to stop (SIGTERM); others poll twice a second",
    ends: 30,
    groups: 1,
    signal: "SIGTERM",
    env: embedded,
    bound: { of: "p50", s: 0.15 },
    spreadMs: 1_500,
  },
];

/** Calls are counted over this long, before the first leader is ended. */
const countForMs = 30_000;
const minutesPerMonth = (60 * 24 * 365.25) / 12;

export const takeoverBench: Bench = {
  name: "takeover",
  question: "how long until another leads, when the leader of three processes dies or goes?",
  async run({ quick, say }) {
    const azurite = await startAzurite();
    const folder = await mkdtemp(join(tmpdir(), "leasefold-bench-"));
    try {
      const on = { program: await buildContender(folder), azurite };
      return await measureAll(on, cases, quick, say);
    } finally {
      await azurite.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

/** Measures all cases side by side. */
export async function measureAll(
  on: Parameters<typeof contenderGroup>[0],
  cases: readonly Case[],
  quick: boolean,
  say: (line: string) => void,
): Promise<BenchResult> {
  const rows: Record<string, string | number>[] = [];
  const figures: Record<string, number> = {};
  const goals: { goal: string; met: boolean }[] = [];
  const measured = await Promise.all(cases.map((one) => measure(on, one, quick, say)));
  for (const [index, { name, about, bound, signal }] of cases.entries()) {
    const { seconds, overlaps } = measured[index] ?? { seconds: [], overlaps: 0 };
    const at = {
      p50: quantile(seconds, 0.5),
      p90: quantile(seconds, 0.9),
      p99: quantile(seconds, 0.99),
      max: quantile(seconds, 1),
    };
    rows.push({ case: name, about, n: seconds.length, ...at, bound: `${bound.of} ≤ ${bound.s} s` });
    for (const [of, value] of Object.entries(at)) figures[`${name}-${of}`] = value;
    goals.push({ goal: `${name}: ${bound.of} within ${bound.s} s`, met: at[bound.of] <= bound.s });
    if (signal !== "SIGTERM") continue;
    figures[`${name}-overlaps`] = overlaps;
    goals.push({ goal: `${name}: at no moment two leaders`, met: overlaps === 0 });
  }
  for (const [name, perMinute] of measured.flatMap(({ calls }) => calls)) {
    const slug = name.replaceAll(/[ ,]+/g, "-");
    const dollars = Math.round(dollarsOf(perMinute) * minutesPerMonth * 100) / 100;
    const all = Object.fromEntries(billingClasses.map((one) => [one, Math.round(perMinute[one])]));
    const shown = billingClasses.filter((one) => all[one]).map((one) => `${all[one]} ${one}`);
    rows.push({ case: name, about: `${shown.join(", ")} calls per minute: $${dollars} per month` });
    for (const one of billingClasses) figures[`${slug}-${one}-per-minute`] = all[one] ?? 0;
    figures[`${slug}-dollars-per-month`] = dollars;
  }
  return { rows, figures, goals };
}

type NamedCalls = readonly (readonly [name: string, perMinute: CallCounts])[];

interface Measured {
  readonly seconds: readonly number[];
  readonly overlaps: number;
  readonly calls: NamedCalls;
}

async function measure(
  on: Parameters<typeof contenderGroup>[0],
  one: Case,
  quick: boolean,
  say: (line: string) => void,
): Promise<Measured> {
  const ends = quick ? 4 : one.ends;
  const groups = quick ? 1 : one.groups;
  const measured = await Promise.all(
    Array.from({ length: groups }, async (_, index): Promise<Measured> => {
      const group = await contenderGroup(on, `${one.name}-${index}`, one.env);
      try {
        const calls = index === 0 ? await countCalls(group, one.name, quick) : [];
        return { ...(await endLeaders(group, one, Math.ceil(ends / groups))), calls };
      } finally {
        group.stop();
      }
    }),
  );
  const seconds = measured.flatMap((each) => each.seconds);
  say(`  ${one.name}: ${seconds.length} of ${one.about}, median ${quantile(seconds, 0.5)} s`);
  const overlaps = measured.reduce((sum, each) => sum + each.overlaps, 0);
  return { seconds, overlaps, calls: measured.flatMap((each) => each.calls) };
}

/** What a group of contenders must do for its leaders to be ended. */
export type Ending = Pick<ContenderGroup, "nextTerm" | "end" | "letGoMs">;

export async function endLeaders(
  group: Ending,
  { signal, spreadMs }: Pick<Case, "signal" | "spreadMs">,
  times: number,
): Promise<{ readonly seconds: readonly number[]; readonly overlaps: number }> {
  const seconds: number[] = [];
  let overlaps = 0;
  let reign = await group.nextTerm(0);
  while (seconds.length < times) {
    await sleep(2_000 + Math.random() * spreadMs);
    // It may have changed hands meanwhile, such as by a budget that ended.
    reign = await group.nextTerm(reign.term - 1);
    const { atMs, replaced } = group.end(reign.index, signal);
    const next = await group.nextTerm(reign.term);
    seconds.push((next.seenMs - atMs) / 1000);
    await replaced;
    if (signal === "SIGTERM" && next.saidMs < group.letGoMs(reign.index)) overlaps += 1;
    reign = next;
  }
  return { seconds, overlaps };
}

/** Which contender's calls a case is to tell, beside its seconds. */
const told: Readonly<Record<string, readonly (readonly [name: string, leads: boolean])[]>> = {
  watching: [["watching follower", false]],
  woken: [["leader", true]],
  ticking: [["ticking follower", false]],
  "fast-watching": [
    ["fast leader", true],
    ["fast watching follower", false],
  ],
};

async function countCalls(group: ContenderGroup, name: string, quick: boolean): Promise<NamedCalls> {
  const wanted = told[name] ?? [];
  if (wanted.length === 0) return [];
  const { index: leader } = await group.nextTerm(0);
  // A run's first seconds are busier than the rest of it.
  await sleep(quick ? 1_000 : 15_000);
  const forMs = quick ? 10_000 : countForMs;
  const counted = await Promise.all(
    wanted.map(async ([who, leads]) => {
      const index = leads ? leader : (leader + 1) % size;
      const before = await group.calls(index);
      const startedMs = nowMs();
      await sleep(forMs);
      const spent = subtractCalls(await group.calls(index), before);
      const perMinute = 60_000 / (nowMs() - startedMs);
      const scaled = Object.fromEntries(billingClasses.map((of) => [of, spent[of] * perMinute]));
      return [who, scaled as unknown as CallCounts] as const;
    }),
  );
  // Lease calls are `other` and the dead-man's wake is `queue`; lists, reads and writes are the coordinator's.
  return counted.flatMap(([who, perMinute]) =>
    who.endsWith("leader")
      ? ([
          // Where loops are as quick as they are embedded, their calls tell nothing about Azure.
          ...(who === "leader" ? [[who, perMinute] as const] : []),
          [`${who}, election alone`, { ...perMinute, list: 0, read: 0, write: 0 }],
        ] as const)
      : [[who, perMinute] as const],
  );
}
