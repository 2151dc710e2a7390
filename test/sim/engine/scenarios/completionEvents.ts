import type { FarCall } from "../../../support/farStorage.ts";
import type { Fate, Weather } from "../../../support/network.ts";
import { hopelessCode } from "../checks/reasons.ts";
import { leaderOnly, play, type Script, workerOnly } from "../script.ts";
import type { SimulationResult } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";

const endedQueue = "ended";

async function mustHavePublished({ run, must, engine }: Script, ...ends: string[]): Promise<void> {
  await engine.storage.queues.ensureQueue(endedQueue);
  const messages = await engine.storage.queues.peek(endedQueue, 32);
  const published = messages.map(({ text }) => {
    const { data } = JSON.parse(text);
    return `${data.uid}-${data.generation} ${data.outcome}`;
  });
  const missing = ends.filter((end) => !published.includes(`${run()?.uid}-${end}`));
  must(missing.length === 0, `no completion event says ${missing.join(" or ")}`);
}

/** A run fails, and its retry is complete; the first leader meets its fault at the given call after the last pack. */
async function endTwice(call: number, fate: Fate): Promise<{ result: SimulationResult; calls: number }> {
  let calls = 0;
  const result = await play({ seed: 21, chunkMs: () => 100 }, async (script) => {
    const { run, broken, until } = script;
    await script.engine.storage.queues.ensureQueue(endedQueue);
    const weather: Weather<FarCall> = {
      calm: false,
      fateOf({ op }) {
        if (op.startsWith("lease.") || (run()?.failures.size ?? 0) === 0) return "arrives";
        calls += 1;
        return calls === call ? fate : "arrives";
      },
    };
    script.start({ ...leaderOnly, endedQueue, weather });
    script.start(workerOnly);
    broken.chunks.add(1);
    broken.code = hopelessCode;
    await script.submit({ id: "r", chunks: 3, packSize: 1 });
    await until("a pack has failed", () => (run()?.failures.size ?? 0) > 0);
    script.start({ ...leaderOnly, endedQueue });
    await until("it has failed", () => run()?.state?.phase === "failed");
    broken.chunks.clear();
    await script.tell("retry");
    await script.untilEnded(2);
    script.mustBe("complete", 2);
    await mustHavePublished(script, "1 failed", "2 complete");
  });
  return { result, calls };
}

export const completionEvents: Readonly<Record<string, Scenario>> = {
  "a leader dies at any call around an end, and a retry follows at once: each end has its event":
    async () => {
      let last = await endTwice(0, "arrives");
      const most = Math.min(last.calls, 60);
      // A death after a call finds storage as before the next.
      for (let call = 1; call <= most && last.result.violations.length === 0; call += 1)
        last = await endTwice(call, call % 10 === 0 ? "dies after" : "dies before");
      return last.result;
    },

  "a queue of completion events that hangs delays the end of a run by five seconds, and the log says so":
    () =>
      play({ seed: 22, chunkMs: () => 100 }, async (script) => {
        const { world, engine, must, run } = script;
        script.start({ endedQueue });
        script.hold = ({ op, args }) =>
          op === "queues.send" && args[0] === endedQueue ? new Promise(() => {}) : undefined;
        await script.submit({ id: "r", chunks: 3, packSize: 1 });
        await script.until("it is complete", () => run()?.state?.phase === "complete");
        const completeMs = world.nowMs();
        await script.untilEnded();
        must(world.nowMs() - completeMs < 6_000, "its marker stayed for longer");
        const lost = engine.log.filter(({ event }) => event === "completion-event-lost");
        must(lost.length === 1, `the log says it ${lost.length} times`);
      }),
};
