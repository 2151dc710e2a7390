import { setTimeout as sleep } from "node:timers/promises";
import pMap from "p-map";
import { readManifest } from "../../src/engine/client/runDocuments.ts";
import { runs } from "../../src/engine/client/runs.ts";
import { status } from "../../src/engine/client/status.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { chainFile, serialChain } from "../support/chain.ts";
import { type Fleet, startFleet } from "../support/chaos/fleet.ts";
import { growthOf, type Held, heldBy } from "../support/chaos/growth.ts";
import { judgeLeftovers, walkStorage } from "../support/chaos/leftovers.ts";
import { resultOf } from "../support/chaos/runs.ts";
import type { Bench, BenchResult } from "./bench.ts";
import { quantile } from "./quantile.ts";

interface Amounts {
  /** Of the stream of small runs beside a long one. */
  readonly minutes: number;
  /** Runs that are submitted at once. */
  readonly burst: number;
  /** Runs side by side, packs of each, and for how long they are watched. */
  readonly beside: number;
  readonly packs: number;
  readonly besideMinutes: number;
}

const usual: Amounts = { minutes: 60, burst: 1_000, beside: 100, packs: 1_000, besideMinutes: 5 };
const few: Amounts = { minutes: 0.5, burst: 50, beside: 10, packs: 100, besideMinutes: 1 };

export const soakBench: Bench = {
  name: "soak",
  question:
    "do memory, handles, latency and storage stay what they are over thousands of runs, and are many fair?",
  byName: true,
  async run({ quick, minutes: asked, say }) {
    const amounts = quick ? few : usual;
    const fleet = await startFleet({ count: instances, calculations: [chainFile] });
    try {
      return await soak(fleet, { ...amounts, minutes: asked ?? amounts.minutes }, say);
    } finally {
      await fleet.stop();
    }
  },
};

const instances = 3;
/** Small runs at once, beside the long one. */
const lanes = 3;
const smallChunks = 10;

type Say = (line: string) => void;

async function soak(fleet: Fleet, amounts: Amounts, say: Say): Promise<BenchResult> {
  const rows: { what: string; seen: string }[] = [];
  const goals: { goal: string; met: boolean }[] = [];
  const row = (what: string, seen: string): void => void rows.push({ what, seen });
  const goal = (text: string, met: boolean): void => void goals.push({ goal: text, met });

  const loops = watchLoops(fleet);
  const stream = await streamOf(fleet, amounts.minutes, say);
  const { latencies, wrong, growths, left } = stream;
  const [first, last] = [latencies.slice(0, hundred), latencies.slice(-hundred)];
  const told = (of: readonly number[]): string => `${quantile(of, 0.5)}, ${quantile(of, 0.95)} s`;
  row(`small runs in ${amounts.minutes} min, ${lanes} at once beside a long one`, `${latencies.length}`);
  row("latency of the first hundred: median, p95", told(first));
  row("latency of the last hundred: median, p95", told(last));
  for (const [index, { residentMb, handles, mostMb, mostHandles }] of growths.entries())
    row(
      `instance ${index + 1}: growth; at most`,
      `${residentMb.toFixed(1)} MB, ${handles} handles; ${mostMb.toFixed(0)} MB, ${mostHandles}`,
    );
  const kept = left.undocumented.length + left.uncleaned.length;
  for (const path of [...left.undocumented, ...left.uncleaned].slice(0, 5)) say(`  left: ${path}`);
  row("left: blobs; messages", `${kept}; ${left.hidden + left.visible}`);
  row("leader's turn beside it: median, p99, longest", loops.told());
  goal("every result has the bytes of one loop", wrong === 0);
  goal(
    "the last hundred runs take at most twice as long as the first",
    quantile(last, 0.5) <= 2 * quantile(first, 0.5),
  );
  goal(
    "no instance grows",
    growths.every(({ residentMb, handles }) => !(residentMb > grownMbMax || handles > 8)),
  );
  goal("nothing is left but results", kept + left.hidden + left.visible === 0);

  const burst = await burstOf(fleet, amounts.burst, say);
  row(
    `${amounts.burst} runs at once: submitted in; complete, and after how long`,
    `${burst.submittedS.toFixed(1)} s; ${burst.complete}, ${burst.allS.toFixed(1)} s`,
  );
  row(
    "list pages of 100: all of them; the slowest while all were active",
    `${burst.pages}; ${burst.slowestPageS.toFixed(2)} s`,
  );
  row("leader's turn: median, p99, longest", loops.told());
  goal("all of them complete, and the lists show each once", burst.complete === amounts.burst && burst.once);

  const beside = await besideOf(fleet, amounts, say);
  row(
    `${amounts.beside} runs of ${amounts.packs} packs side by side: least and most packs done`,
    `${beside.least}, ${beside.most}`,
  );
  row("Jain's index of their progress: last; worst once a tenth was done", `${beside.jain}; ${beside.worst}`);
  row("leader's turn: median, p99, longest", loops.told());
  goal("Jain's index is at least 0.9", beside.jain >= 0.9);
  const figures = {
    ...{ smallRuns: latencies.length, firstS: quantile(first, 0.5), lastS: quantile(last, 0.5) },
    ...{ grownMb: Math.max(...growths.map((one) => one.residentMb)), left: kept, burstS: burst.allS },
    ...{ slowestPageS: burst.slowestPageS, jain: beside.jain },
  };
  return { rows, figures, goals };
}

const hundred = 100;
const grownMbMax = 24;

/** A leader lists the markers once in each turn, so the time between two lists is that of a turn, its pause included. */
function watchLoops({ proxy }: Fleet) {
  let gaps: number[] = [];
  let lastMs: number | undefined;
  proxy.use(({ service, method, url, atMs }) => {
    if (service === "blob" && method === "GET" && /-active\?.*comp=list/.test(url)) {
      if (lastMs !== undefined) gaps.push((atMs - lastMs) / 1_000);
      lastMs = atMs;
    }
    return "none";
  });
  return {
    /** Since it was told last. */
    told(): string {
      const told = [0.5, 0.99, 1].map((share) => quantile(gaps, share)).join(", ");
      gaps = [];
      return `${told} s`;
    },
  };
}

/** Small runs one after the other in some lanes, beside a run that lasts as long. */
async function streamOf(fleet: Fleet, minutes: number, say: Say) {
  const { direct } = fleet;
  const began = performance.now();
  const expected = await serialChain(smallChunks);
  const longChunks = Math.max(4, Math.round(minutes * 20));
  const long = await submit(direct, {
    ...{ calculation: "chain", params: { chunks: longChunks, ms: 2_000 }, packSize: 1, cap: 1, id: "long" },
  });
  const held: Held[][] = fleet.instances.map(() => []);
  const watching = setInterval(() => {
    const atS = (performance.now() - began) / 1_000;
    for (const [index, { pid = 0 }] of fleet.instances.entries()) held[index]?.push(heldBy(pid, atS));
  }, 1_000);
  const latencies: number[] = [];
  const complete = new Set<string>();
  let wrong = 0;
  const lane = async (): Promise<void> => {
    while (performance.now() - began < 60_000 * minutes) {
      const submittedMs = performance.now();
      const params = { chunks: smallChunks };
      const one = await submit(direct, { calculation: "chain", params });
      while ((await readManifest(direct, one, 1)) === undefined) await sleep(50);
      latencies.push((performance.now() - submittedMs) / 1_000);
      if (latencies.length % 250 === 0) say(`  ${latencies.length} small runs`);
      complete.add(one.run);
      if ((await resultOf(direct, one.run)) !== expected) wrong += 1;
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  const endMs = performance.now() + longMs;
  while ((await status(direct, long.run)).active && performance.now() < endMs) await sleep(500);
  if ((await resultOf(direct, long.run)) !== (await serialChain(longChunks))) wrong += 1;
  complete.add(long.run);
  clearInterval(watching);
  let left = judgeLeftovers(await walkStorage(direct), complete);
  for (let tries = 0; tries < 45 && left.uncleaned.length + left.visible + left.hidden > 0; tries += 1) {
    await sleep(1_000);
    left = judgeLeftovers(await walkStorage(direct), complete);
  }
  return { latencies, wrong, growths: held.map(growthOf), left };
}

const longMs = 600_000;

/** Submits so many runs of one chunk as fast as it can, and waits for all. */
async function burstOf({ direct }: Fleet, count: number, say: Say) {
  const began = performance.now();
  const sinceS = (): number => (performance.now() - began) / 1_000;
  const nameOf = (nth: number): string => `burst-${nth}`;
  const all = Array.from({ length: count }, (_, nth) => nameOf(nth));
  await pMap(all, (id) => submit(direct, { calculation: "chain", params: { chunks: 1 }, id }), {
    concurrency: 64,
  });
  const submittedS = sinceS();
  say(`  ${count} runs submitted in ${submittedS.toFixed(1)} s`);
  let slowestPageS = 0;
  const page = async (cursor?: string) => {
    const fromS = sinceS();
    const found = await runs(direct, {
      limit: 100,
      prefix: "burst-",
      ...(cursor === undefined ? {} : { cursor }),
    });
    slowestPageS = Math.max(slowestPageS, sinceS() - fromS);
    return found;
  };
  await page();
  while (
    (await direct.storage.blobs.list(direct.names.active, "burst-")).blobs.length > 0 &&
    sinceS() < burstS
  )
    await sleep(500);
  const allS = sinceS();
  const seen: string[] = [];
  let complete = 0;
  let pages = 0;
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const found = await page(cursor);
    pages += 1;
    seen.push(...found.runs.map(({ run }) => run));
    complete += found.runs.filter((one) => "phase" in one && one.phase === "complete").length;
    cursor = found.cursor;
  }
  const once = seen.length === count && new Set(seen).size === count;
  return { submittedS, allS, complete, once, pages, slowestPageS };
}

const burstS = 900;

/** How evenly runs of the same size progress, as long as none has ended. */
async function besideOf({ direct }: Fleet, { beside, packs, besideMinutes }: Amounts, say: Say) {
  const ids = Array.from({ length: beside }, (_, nth) => `beside-${nth}`);
  const request = { calculation: "chain", params: { chunks: packs }, packSize: 1 };
  await pMap(ids, (id) => submit(direct, { ...request, id }), { concurrency: 32 });
  const endMs = performance.now() + 60_000 * besideMinutes;
  let seen = { jain: Number.NaN, least: 0, most: 0 };
  let worst = Number.NaN;
  while (performance.now() < endMs) {
    await sleep(2_000);
    const views = await pMap(ids, (id) => status(direct, id), { concurrency: 16 });
    if (views.some(({ active }) => !active)) break;
    const done = views.map((view) => view.packs?.done ?? 0);
    const sum = done.reduce((a, b) => a + b, 0);
    if (sum === 0) continue;
    const jain = quantile([sum ** 2 / (beside * done.reduce((a, b) => a + b * b, 0))], 1);
    seen = { jain, least: Math.min(...done), most: Math.max(...done) };
    if (sum >= (beside * packs) / 10) worst = Number.isNaN(worst) ? jain : Math.min(worst, jain);
    say(`  ${sum} packs of ${beside} runs: from ${seen.least} to ${seen.most}, Jain's index ${jain}`);
  }
  return { ...seen, worst };
}
