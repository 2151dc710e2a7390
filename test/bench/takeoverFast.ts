import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startAzurite } from "../../packages/cli/local/azurite.ts";
import type { Bench } from "./bench.ts";
import { buildContender, contenderGroup, size } from "./contenderGroup.ts";
import { type Case, embedded, measureAll } from "./takeover.ts";

const fast = { ...embedded, LEASEFOLD_EARLY_TAKEOVER: "fast" };

const cases: readonly Case[] = [
  {
    name: "fast-watching",
    about: "killed; others poll four times a second",
    ends: 100,
    groups: 2,
    signal: "SIGKILL",
    env: fast,
    bound: { of: "p99", s: 2.6 },
    spreadMs: 1_500,
  },
  {
    name: "fast-handover",
    about: "asked to stop (SIGTERM); others poll four times a second",
    ends: 30,
    groups: 1,
    signal: "SIGTERM",
    env: fast,
    bound: { of: "p50", s: 0.15 },
    spreadMs: 1_500,
  },
];

/** No term ends by its budget while the undisturbed leader is watched. */
const oneTerm = {
  ...fast,
  LEASEFOLD_BUDGET_S: "7000",
  AzureFunctionsJobHost__functionTimeout: "02:00:00",
};

export const takeoverFastBench: Bench = {
  name: "takeover-fast",
  question:
    "the same with LEASEFOLD_EARLY_TAKEOVER=fast, and is a leader deposed beside full load? --full: an hour",
  async run({ full, quick, say }) {
    const azurite = await startAzurite();
    const folder = await mkdtemp(join(tmpdir(), "leasefold-bench-"));
    try {
      const on = { program: await buildContender(folder), azurite };
      const { rows, figures, goals } = await measureAll(on, cases, quick, say);
      const minutes = full ? 60 : quick ? 0.25 : 3;
      const unasked = await leadBesideLoad(on, minutes);
      for (const what of unasked) say(`  undisturbed leading ended: ${what}`);
      const about = `${availableParallelism()} processes compute without a pause, for ${minutes} minutes`;
      return {
        rows: [...rows, { case: "undisturbed", about, n: unasked.length, bound: "0 ends" }],
        figures: { ...figures, "undisturbed-minutes": minutes, "undisturbed-ends": unasked.length },
        goals: [...goals, { goal: "undisturbed: no term ends beside full load", met: unasked.length === 0 }],
      };
    } finally {
      await azurite.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

/** Gives what ended a term though nobody was killed or stopped, while each core has more to do than it can. */
async function leadBesideLoad(
  on: Parameters<typeof contenderGroup>[0],
  minutes: number,
): Promise<readonly string[]> {
  const group = await contenderGroup(on, "undisturbed", oneTerm);
  const load: ChildProcess[] = [];
  try {
    const { index, term } = await group.nextTerm(0);
    const began = group.changes().length;
    for (let core = 0; core < availableParallelism(); core += 1) {
      load.push(spawn(process.execPath, ["--eval", "for (;;);"], { stdio: "ignore" }));
    }
    await sleep(minutes * 60_000);
    const unasked = group.changes().slice(began);
    if (unasked.length > 0) return unasked;
    // What would be counted is counted: this one is killed, and a new term begins.
    const { replaced } = group.end(index, "SIGKILL");
    await group.nextTerm(term);
    await replaced;
    if (group.changes().length === began) {
      throw new Error(`the leader of ${size} was killed, and nothing was counted`);
    }
    return unasked;
  } finally {
    for (const child of load) child.kill("SIGKILL");
    group.stop();
  }
}
