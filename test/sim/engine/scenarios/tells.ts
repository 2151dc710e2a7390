import type { WorkerPorts } from "../../../../src/engine/worker/ports.ts";
import type { FarCall } from "../../../support/farStorage.ts";
import type { Fate, Weather } from "../../../support/network.ts";
import { hopelessCode } from "../checks/reasons.ts";
import { leaderOnly, play, type Script, workerOnly } from "../script.ts";
import type { SimulationResult } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";

/** Takes words under one key, and refuses the first `refuses` of them. */
function listener(refuses = 0) {
  const told: string[] = [];
  let left = refuses;
  const tellers: NonNullable<WorkerPorts["tellers"]> = new Map([
    [
      "queue",
      {
        name: "queue",
        async tell({ data }) {
          left -= 1;
          if (left >= 0) throw new Error("it answered 503");
          told.push(`${data.uid}-${data.generation} ${data.outcome}`);
          return true;
        },
      },
    ],
  ]);
  return { told, tellers };
}

function mustHaveTold({ run, must }: Script, told: readonly string[], ...ends: string[]): void {
  const uid = run()?.uid;
  const missing = ends.filter((end) => !told.includes(`${uid}-${end}`));
  must(missing.length === 0, `nobody was told of ${missing.join(" and ")}`);
}

/** A run fails, and its retry is complete; the first leader meets its fault at the given call after the last pack. */
async function endTwice(call: number, fate: Fate): Promise<{ result: SimulationResult; calls: number }> {
  const { told, tellers } = listener();
  let calls = 0;
  const result = await play({ seed: 21, chunkMs: () => 100 }, async (script) => {
    const { run, broken, until } = script;
    const weather: Weather<FarCall> = {
      calm: false,
      fateOf({ op }) {
        if (op.startsWith("lease.") || (run()?.failures.size ?? 0) === 0) return "arrives";
        calls += 1;
        return calls === call ? fate : "arrives";
      },
    };
    script.start({ ...leaderOnly, tellers, weather });
    script.start({ ...workerOnly, tellers });
    broken.chunks.add(1);
    broken.code = hopelessCode;
    await script.submit({ id: "r", chunks: 3, packSize: 1 });
    await until("a pack has failed", () => (run()?.failures.size ?? 0) > 0);
    script.start({ ...leaderOnly, tellers });
    await until("it has failed", () => run()?.state?.phase === "failed");
    broken.chunks.clear();
    await script.tell("retry");
    await script.untilEnded(2);
    script.mustBe("complete", 2);
    await script.world.advance(60_000);
    mustHaveTold(script, told, "1 failed", "2 complete");
  });
  return { result, calls };
}

export const tells: Readonly<Record<string, Scenario>> = {
  "a leader dies at any call around an end, and a retry follows at once: each end is told": async () => {
    let last = await endTwice(0, "arrives");
    const most = Math.min(last.calls, 60);
    for (let call = 1; call <= most && last.result.violations.length === 0; call += 1)
      for (const fate of ["dies before", "dies after"] as const) {
        last = await endTwice(call, fate);
        if (last.result.violations.length > 0) break;
      }
    return last.result;
  },

  "a place that refuses words for hours gets each in the end, and no run waits for it": () =>
    play({ seed: 22, chunkMs: () => 100 }, async (script) => {
      const { told, tellers } = listener(5);
      script.start({ breakAfterMs: 4_000, tellers });
      await script.submit({ id: "r", chunks: 3, packSize: 1 });
      await script.untilEnded();
      script.mustBe("complete");
      script.must(script.world.nowMs() < 60_000, "the run waited for it");
      script.must(told.length === 0, "it refused at first");
      await script.until("it is told", () => told.length > 0, 8 * 3_600_000);
      mustHaveTold(script, told, "1 complete");
    }),

  "an instance without the settings leaves words to one that has them": () =>
    play({ seed: 23, chunkMs: () => 100 }, async (script) => {
      const { told, tellers } = listener();
      script.start({ ...leaderOnly, tellers });
      script.start(workerOnly);
      await script.submit({ id: "r", chunks: 3, packSize: 1 });
      await script.untilEnded();
      await script.world.advance(90_000);
      script.must(told.length === 0, "nobody could tell");
      script.start({ ...workerOnly, tellers });
      await script.until("it is told", () => told.length > 0, 600_000);
      mustHaveTold(script, told, "1 complete");
    }),
};
