import { availableParallelism, loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { Bench } from "./bench.ts";
import { starters } from "./peers/computing.ts";
import { isInstalled } from "./peers/installed.ts";
import { measureLocks } from "./peers/locks.ts";
import {
  failed,
  lockCells,
  type Measured,
  ratioRows,
  skipWord,
  type WorkCell,
  type WorkerName,
  workCells,
  workerNeeds,
  workers,
} from "./peers/plan.ts";
import type { Part } from "./peers/work.ts";

const repeats = 3;
/** No further repeat of a peer begins after this long, and of any peer so long after the bench began. */
const [repeatsMs, allRepeatsMs] = [8_000, 150_000];
/** A peer that takes longer is told as such, and the others go on. */
const limitMs = 60_000;

/** The same work and the same deaths through other programs. What is not installed is skipped with a word. */
export const peersBench: Bench = {
  name: "peers",
  question: "the same chunks, and the same kills, through other queues and locks: times over Leasefold's",
  byName: true,
  async run({ full, quick, say }) {
    const load = loadavg()[0]?.toFixed(1);
    say(`  load before: ${load} on ${availableParallelism()} cores; a ratio compares, its seconds do not`);
    const untilMs = performance.now() + allRepeatsMs;
    const measured: (readonly [cell: string, of: readonly Measured[]])[] = [];
    for (const cell of workCells({ full, quick }))
      measured.push([cell.name, await computeAll(cell, { repeats: quick ? 1 : repeats, untilMs }, say)]);
    measured.push(["kills", await measureLocks(lockCells({ full, quick }), say)]);
    const tables = measured.map(([cell, of]) => ratioRows(cell, of));
    return {
      rows: tables.flatMap(({ rows }) => rows),
      figures: Object.assign({}, ...tables.map(({ figures }) => figures)),
      goals: [],
    };
  },
};

interface Limits {
  readonly repeats: number;
  readonly untilMs: number;
}

/** Each peer alone on the machine, one after the other. Throws where one has another answer than Leasefold. */
async function computeAll(
  cell: WorkCell,
  limits: Limits,
  say: (line: string) => void,
): Promise<readonly Measured[]> {
  const measured: Measured[] = [];
  let expected: Part | undefined;
  say(`  ${cell.name}: ${cell.about}`);
  for (const name of workers) {
    const skipped = skipWord(workerNeeds[name], isInstalled);
    const found = skipped ?? (await compute(name, cell, limits).catch(failed));
    if (typeof found === "object") {
      expected ??= found.answers[0];
      const wrong = found.answers.find((answer) => `${answer}` !== `${expected}`);
      if (wrong !== undefined) throw new Error(`${name}: ${cell.name} gives ${wrong} instead of ${expected}`);
    }
    const seconds = typeof found === "object" ? found.seconds : found;
    say(
      `    ${name}: ${typeof seconds === "string" ? seconds : seconds.map((one) => one.toFixed(2)).join(", ")}`,
    );
    measured.push({ name, seconds });
  }
  return measured;
}

/** Its workers have started and computed a little before the clock runs. Throws where it takes too long. */
async function compute(
  name: WorkerName,
  cell: WorkCell,
  { repeats, untilMs }: Limits,
): Promise<{ readonly seconds: readonly number[]; readonly answers: readonly Part[] }> {
  const peer = await starters[name](cell);
  try {
    const endMs = Math.min(untilMs, performance.now() + repeatsMs);
    const [seconds, answers]: [number[], Part[]] = [[], []];
    const run = async (one: WorkCell) => {
      const late = sleep(limitMs, undefined, { ref: false });
      return await Promise.race([peer.run(one), late]);
    };
    await run(warmUp(cell));
    for (;;) {
      const ran = await run(cell);
      if (ran === undefined) throw new Error(`not done in ${limitMs / 1_000} s`);
      seconds.push(ran.seconds);
      answers.push(ran.answer);
      if (seconds.length === repeats || performance.now() > endMs) return { seconds, answers };
    }
  } finally {
    await peer.stop();
  }
}

const warmUp = (cell: WorkCell): WorkCell => ({
  ...cell,
  work: cell.work.kind === "chain" ? { kind: "chain", chunks: 100 } : { kind: "sieve", to: 1e8 },
});
