import { setTimeout as sleep } from "node:timers/promises";
import { aggregate } from "../../src/calculations/aggregate.ts";
import { parseParams } from "../../src/calculations/params.ts";
import { threadPool } from "../../src/worker/threads/threadPool.ts";
import { repeated } from "../support/generatedFiles.ts";
import { syntheticFiles } from "../support/syntheticFiles.ts";
import type { Bench } from "./bench.ts";

/** A call to storage in its own region. */
const callMs = 10;
const head = "key,text,value\n";
const withQuotes = 'some key,"a text, quoted,\nof ""two"" lines",12.5\n';
const withoutQuotes = "some key,a text without quotes,12.5\n";

interface PlanCase {
  readonly what: string;
  readonly line: string;
  readonly chunkBytes?: number;
}
const cases: readonly PlanCase[] = [
  { what: "quotes", line: withQuotes },
  { what: "no-quotes", line: withoutQuotes },
  { what: "short-ranges", line: withQuotes, chunkBytes: 8 * 2 ** 20 },
];

/** Plans of `aggregate` in a thread of the app's pool, over files whose bytes are made when they are read. */
export const planningBench: Bench = {
  name: "planning",
  question:
    "how long does a plan over 10,000 small CSV files and one of 20 GB take, and how much does it read?",
  async run({ quick, say }) {
    const small = quick ? 500 : 10_000;
    const largeBytes = (quick ? 1 : 20) * 1e9;
    const rows: Record<string, string | number>[] = [];
    const figures: Record<string, number> = {};
    for (const { what, line, chunkBytes } of cases) {
      const bytesAt = repeated(head, line);
      const wholeLines = (bytes: number): number => bytes - ((bytes - head.length) % line.length);
      const files = Array.from({ length: small }, (_, index) => ({
        path: `data/${String(index).padStart(5, "0")}.csv`,
        bytes: wholeLines(10_000),
        bytesAt,
      }));
      files.push({ path: "data/large.csv", bytes: wholeLines(largeBytes), bytesAt });
      const { access, use } = syntheticFiles(files, () => sleep(callMs));
      const onIdleCrash = (error: unknown): never => {
        throw error;
      };
      const pool = threadPool({ threads: 1, memoryMb: 512, files: [], access, onIdleCrash });
      try {
        const params = parseParams(aggregate, { source: "data/", ...(chunkBytes ? { chunkBytes } : {}) });
        const startedMs = performance.now();
        const task = { urgent: true, limitMs: 300_000 };
        const { chunks } = await pool.plan({ calculation: "aggregate", params }, async () => {}, task);
        const seconds = (performance.now() - startedMs) / 1000;
        const found = { chunks, seconds, reads: use.reads, "bytes-read": use.bytes };
        for (const [name, value] of Object.entries(found)) figures[`${what}-${name}`] = value;
        const row = { of: what, chunks, seconds: Number(seconds.toFixed(1)), reads: use.reads };
        rows.push({
          ...row,
          "GB read": Number((use.bytes / 1e9).toFixed(2)),
          "MB at once": Math.round(use.bytesAtOnce / 1e6),
        });
        say(`  ${what}: ${seconds.toFixed(1)} s, ${use.reads} reads`);
      } finally {
        await pool.stop();
      }
    }
    const peakBytes = process.resourceUsage().maxRSS * 1024;
    const goals = cases.map(({ what }) => ({
      goal: `planned within 60 s: ${what}`,
      met: (figures[`${what}-seconds`] as number) < 60,
    }));
    return { rows, figures: { ...figures, "peak-bytes": peakBytes }, goals };
  },
};
