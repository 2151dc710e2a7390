import { play, type Script, workerOnly } from "../script.ts";
import type { Scenario } from "./scenarios.ts";

/** What the leader hands to the worker of its own process instead of to a queue. */

const seconds = 1_000;
const leader = { breakAfterMs: 4_000, tickEveryMs: 1_000 } as const;

/** How many messages of work went to a queue. */
function countMessages(script: Script): () => number {
  let count = 0;
  script.hold = ({ op, args }) => {
    if (op === "queues.send" && /"kind":"(plan|compute|combine|finish)"/.test(String(args[1]))) count += 1;
    return undefined;
  };
  return () => count;
}

function mustComputeOnce(script: Script, packs: number): void {
  const { judge } = script;
  const packsBegun = new Set(
    judge.begun.flatMap(({ handling: { message } }) => (message?.kind === "compute" ? message.pack : [])),
  );
  const sends = judge.begun.filter(({ handling: { message } }) => message?.kind !== "plan").length;
  const plans = new Set(
    judge.begun.flatMap(({ handling }) => (handling.message?.kind === "plan" ? [handling] : [])),
  );
  if (
    packsBegun.size !== packs ||
    plans.size !== 1 ||
    (script.run()?.state?.resends ?? 0) > 0 ||
    sends > packs + 1
  )
    judge.report("hardly anything is computed twice", `${plans.size} plans, ${sends} packs and folds`);
}

const smallRun = () =>
  play({ seed: 101, chunkMs: () => 20 }, async (script) => {
    const messages = countMessages(script);
    script.start(leader);
    await script.submit({ id: "r", chunks: 10, packSize: 1 });
    await script.untilEnded();
    script.mustBe("complete");
    script.must(messages() === 0, `${messages()} messages of a small run went to a queue`);
    mustComputeOnce(script, 10);
  });

/** As the plan has it, packs take a millisecond; in truth ten seconds. */
const longerThanPlanned = () =>
  play({ seed: 102, chunkMs: () => 1 }, async (script) => {
    const { world, engine } = script;
    script.start(leader);
    script.start({ ...workerOnly, threads: 8 });
    await script.submit({ id: "r", chunks: 20, packSize: 1 });
    let slow = false;
    script.onDelivery = ({ message }) => {
      slow ||= message?.kind === "compute";
    };
    script.broken.throws = async (_run, chunk) => {
      if (chunk !== undefined && slow) await engine.client.clock.sleep(10 * seconds);
    };
    const fromMs = world.nowMs();
    await script.untilEnded();
    script.mustBe("complete");
    const tookMs = world.nowMs() - fromMs;
    script.must(
      tookMs < 35 * seconds,
      `20 packs of 10 s on ten threads took ${Math.round(tookMs / seconds)} s`,
    );
    mustComputeOnce(script, 20);
  });

/** Two packs of eight seconds on the two threads of a leader, which dies, and another instance. */
const leaderDies = () =>
  play({ seed: 103, chunkMs: () => 8 * seconds }, async (script) => {
    const { engine, run } = script;
    script.start(leader);
    await script.submit({ id: "r", chunks: 2, packSize: 1 });
    const packs = () => run()?.sent.filter(({ message }) => message.kind === "compute") ?? [];
    await script.until("both packs are computed", () => packs().length === 2);
    await script.world.advance(2 * seconds);
    engine.instances[0]?.kill();
    script.start(leader);
    await script.untilEnded();
    script.mustBe("complete");
    script.must((run()?.state?.resends ?? 0) === 2, "what the dead leader had is resent");
  });

export const localWork: Readonly<Record<string, Scenario>> = {
  "a small run is computed where it is led, and no message of it goes to a queue": smallRun,
  "what takes longer than planned goes to others in time, though the leader has taken it": longerThanPlanned,
  "a leader dies with what it computed itself, which is resent": leaderDies,
};
