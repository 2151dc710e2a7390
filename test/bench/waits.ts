import { join } from "node:path";
import { submit } from "../../src/engine/client/submit.ts";
import { startRealApp } from "../support/realApp.ts";
import type { Bench } from "./bench.ts";
import { quantile } from "./quantile.ts";

const file = join(import.meta.dirname, "../fixtures/waiting.calculation.ts");
const rounds = 3;

/** Chunks that wait, and one that always throws: from submit to the end of the run, on one warm instance with two threads. */
export const waitsBench: Bench = {
  name: "waits",
  question: "how long take chunks that wait, and how soon is an error known, on one warm instance?",
  async run() {
    const app = await startRealApp({
      instances: 1,
      calculations: [file],
      env: { LEASEFOLD_THREADS: "2" },
    });
    const seconds = async (params: Readonly<Record<string, number>>): Promise<number> => {
      const startedMs = performance.now();
      const { run } = await submit(app.client, { calculation: "waiting", params });
      await app.until(run, ({ active }) => !active, 50);
      return (performance.now() - startedMs) / 1_000;
    };
    const median = async (params: Readonly<Record<string, number>>): Promise<number> => {
      const all: number[] = [];
      for (let round = 0; round < rounds; round += 1) all.push(await seconds(params));
      return quantile(all, 0.5);
    };
    try {
      // The first run starts the threads.
      await seconds({ chunks: 10, waitMs: 1 });
      const figures = {
        waitS: await median({ chunks: 400, waitMs: 500 }),
        throwS: await median({ chunks: 100, waitMs: 1, throws: 50 }),
      };
      return {
        rows: [
          { chunks: "400 that wait 0.5 s, 32 at the same time", seconds: figures.waitS },
          { chunks: "100, of which one always throws", seconds: figures.throwS },
        ],
        figures,
        goals: [
          { goal: "chunks that wait take 7 s at most", met: figures.waitS <= 7 },
          { goal: "the error is known after 15 s at most", met: figures.throwS <= 15 },
        ],
      };
    } finally {
      await app.stop();
    }
  },
};
