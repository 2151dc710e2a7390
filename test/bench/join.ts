import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findManifest, openResult } from "../../src/engine/client/result.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { startRealApp } from "../support/realApp.ts";
import type { Bench } from "./bench.ts";

const mb = 2 ** 20;
const chunkBytes = 2 * mb;
const memoryMbMax = 420;
const limitMs = 3_600_000;
const calculations = [join(import.meta.dirname, "../fixtures/sequence.calculation.ts")];

/** A result that is joined from what the chunks give, read again and compared with its hash. */
export const joinBench: Bench = {
  name: "join",
  question: "how fast, and in how much memory, is one long result joined from the files of its packs?",
  async run({ quick, full, say }) {
    const bytes = (quick ? 128 : full ? 5_120 : 1_024) * mb;
    const app = await startRealApp({ instances: 2, calculations });
    try {
      const { client, until } = app;
      const startedMs = performance.now();
      const seconds = () => Math.round((performance.now() - startedMs) / 100) / 10;
      const params = { chunks: bytes / chunkBytes, chunkBytes };
      await submit(client, { calculation: "long-sequence", params, id: "long" });
      await until("long", ({ phase }) => phase === "finishing" || phase === "complete", limitMs);
      const computedS = seconds();
      const { word } = await until("long", ({ active }) => !active, limitMs);
      if (word !== "complete") throw new Error(`the run is ${word}`);
      const joinedS = Math.round((seconds() - computedS) * 10) / 10;
      say(`${computedS} s until all packs were done, ${joinedS} s to join them`);
      const residentMb = Math.max(
        ...app.instances.instances.map(
          ({ pid }) =>
            Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024,
        ),
      );
      // The stream throws where the hash is not that of the manifest.
      const { body } = await openResult(client, await findManifest(client, "long"));
      let at = 0;
      for await (const piece of body) at += piece.length;
      const figures = { mb: bytes / mb, computedS, joinedS, mbPerS: bytes / mb / joinedS, residentMb };
      return {
        rows: [figures],
        figures,
        goals: [
          { goal: "the result has all bytes, and the hash of its manifest", met: at === bytes },
          { goal: `at most ${memoryMbMax} MB resident`, met: residentMb <= memoryMbMax },
        ],
      };
    } finally {
      await app.stop();
    }
  },
};
