import { play, type Script } from "../script.ts";
import type { Scenario } from "./scenarios.ts";

/** A request that waits for a run leads it while its wake lies in the queue. */

const seconds = 1_000;
/** An instance that has ticked, and will not do so again. */
async function idleInstance(script: Script): Promise<void> {
  script.start({ tickEveryMs: 3_600 * seconds });
  await script.world.advance(5 * seconds);
}

/** Hosts poll the wakes so long after now, and not before. */
function holdWakes(script: Script, forMs: number): void {
  const { names, clock } = script.engine.client;
  const untilMs = clock.monotonicMs() + forMs;
  script.hold = ({ op, args }) => {
    const leftMs = untilMs - clock.monotonicMs();
    return op === "queues.receive" && args[0] === names.wake && leftMs > 0 ? clock.sleep(leftMs) : undefined;
  };
}

function waited(script: Script, id: string, waitMs: number): () => number | undefined {
  const { world, engine } = script;
  const fromMs = world.nowMs();
  let tookMs: number | undefined;
  void engine.instances[0]?.waitFor(id, waitMs).then(() => {
    tookMs = world.nowMs() - fromMs;
  });
  return () => tookMs;
}

const ledByItsRequest = () =>
  play({ seed: 111, chunkMs: () => 20 }, async (script) => {
    await idleInstance(script);
    holdWakes(script, 60 * seconds);
    await script.submit({ id: "r", chunks: 10, packSize: 1 });
    const tookMs = waited(script, "r", 50 * seconds);
    await script.until("the request is answered", () => tookMs() !== undefined, 20 * seconds);
    script.must((tookMs() ?? 0) < 5 * seconds, `the answer came after ${tookMs()} ms`);
    script.mustBe("complete");
    script.must(script.run()?.state?.term === 1, "one term led it");
  });

/** 40 s of work on two threads; its wake comes after 3 s, and the request would wait for 30. */
const takenOver = () =>
  play({ seed: 112, chunkMs: () => seconds }, async (script) => {
    await idleInstance(script);
    holdWakes(script, 3 * seconds);
    await script.submit({ id: "r", chunks: 80, packSize: 1 });
    waited(script, "r", 30 * seconds);
    await script.until("the request leads", () => script.run()?.state?.term === 1, 2 * seconds);
    await script.untilEnded();
    script.mustBe("complete");
    script.must(script.run()?.state?.term === 1, "nobody else had to lead");
    script.must((script.run()?.state?.resends ?? 0) === 0, "nothing is computed twice");
  });

/** Its packs take a minute. */
const answeredInTime = () =>
  play({ seed: 113, chunkMs: () => 60 * seconds }, async (script) => {
    await idleInstance(script);
    holdWakes(script, 60 * seconds);
    await script.submit({ id: "r", chunks: 4, packSize: 1 });
    const tookMs = waited(script, "r", 5 * seconds);
    await script.until("the request is answered", () => tookMs() !== undefined, 60 * seconds);
    script.must((tookMs() ?? 0) < 8 * seconds, `the answer came after ${tookMs()} ms`);
    script.must(script.engine.instances[0]?.leading() === false, "it leads no more");
    await script.untilEnded();
    script.mustBe("complete");
  });

/** The process of the request dies while it leads, and another instance goes on. */
const dies = () =>
  play({ seed: 114, chunkMs: () => 2 * seconds }, async (script) => {
    await idleInstance(script);
    holdWakes(script, 60 * seconds);
    await script.submit({ id: "r", chunks: 6, packSize: 1 });
    waited(script, "r", 50 * seconds);
    await script.until("the request leads", () => script.run()?.state?.term === 1, 2 * seconds);
    await script.world.advance(3 * seconds);
    script.engine.instances[0]?.kill();
    script.start({ tickEveryMs: 5 * seconds });
    await script.untilEnded();
    script.mustBe("complete");
  });

export const awaited: Readonly<Record<string, Scenario>> = {
  "a run that a request waits for is led by it, before its wake is polled": ledByItsRequest,
  "a wake takes over what a request leads": takenOver,
  "a request that leads a long run is answered in time, and the run goes on": answeredInTime,
  "the process of a request that leads dies, and its run goes on": dies,
};
