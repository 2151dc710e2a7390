import { failRun, retryLater } from "../../../../src/engine/calculation/asks.ts";
import { simNames as names } from "../../../support/engineWorld.ts";
import { clearQueue } from "../hostile.ts";
import { hourMs, leaderOnly, play, type Script, workerOnly } from "../script.ts";
import { idleCalls, mustCostNothing } from "./rest.ts";
import type { Scenario } from "./scenarios.ts";

/** Work that waits for its next attempt (rule *waits*): what user code throws, asks to be tried later, or ends its run with. */

const seconds = 1_000;
const minutes = 60_000;
const reason = "no file yet";

/** When the chunks of run `r` were begun, samples of its plan left out. */
const begunMs = ({ judge }: Script, chunk?: number): number[] =>
  judge.begun.flatMap(({ task, atMs, handling: { message } }) =>
    task.kind === "compute" && message?.kind === "compute" && (chunk === undefined || task.from === chunk)
      ? atMs
      : [],
  );

/** Each chunk throws what `how` does until this time. */
function until(script: Script, ms: number, how: () => void): void {
  script.broken.throws = (_run, chunk) => {
    if (chunk !== undefined && script.world.nowMs() < ms) how();
  };
}

function mustNotRepeat(script: Script, begun: number, what: string): void {
  const all = begunMs(script).length;
  if (all > begun)
    script.judge.report("hardly anything is computed twice", `${what}: ${all} begun, not ${begun}`);
}

function mustEndBy(script: Script, ms: number): void {
  const lateS = Math.round((script.world.nowMs() - ms) / seconds);
  if (lateS > 0) script.judge.report("every run ends in time", `${lateS} s too late`);
}

/** An hour's wait costs nothing, and the run ends soon after it. */
const allWait = (of: "chunks" | "plan") =>
  play({ seed: 71, chunkMs: () => 500 }, async (script) => {
    const { world, run, must } = script;
    script.patienceMs = hourMs;
    const idle = await idleCalls(script);
    const fromMs = world.nowMs();
    until(script, fromMs + 50 * minutes, () => retryLater(reason, 3_600));
    if (of === "plan")
      script.broken.throws = (_run, chunk) => {
        if (chunk === undefined && world.nowMs() < fromMs + 50 * minutes) retryLater(reason, 3_600);
      };
    await script.submit({ id: "r", chunks: 12, packSize: 1 });
    await world.advance(2 * minutes);
    const { waits } = run()?.state ?? {};
    must(waits?.works === (of === "plan" ? 1 : 12), `it is told what waits: ${JSON.stringify(waits)}`);
    must(waits?.message.includes(reason) === true, "and why");
    await mustCostNothing(script, idle, `${of} that wait for an hour`);
    await script.untilEnded();
    script.mustBe("complete");
    mustEndBy(script, fromMs + 64 * minutes);
    mustNotRepeat(script, of === "plan" ? 12 : 24, "one attempt before the wait, and one after");
  });

/** Chunks throw once, and wait for 20 s; meanwhile something happens. */
const during = (happens: (script: Script) => Promise<void> | void, seed: number, waitS = 20) =>
  play({ seed, chunkMs: () => 500 }, async (script) => {
    const { world, run, must } = script;
    script.start(leaderOnly);
    script.start(leaderOnly);
    script.start(workerOnly);
    script.start(workerOnly);
    until(script, 20 * seconds, () => {
      throw new Error(reason);
    });
    await world.advance(5 * seconds);
    await script.submit({ id: "r", chunks: 12, packSize: 1, retryAfterS: [waitS] });
    await script.until("all packs wait", () => run()?.state?.waits?.works === 12);
    await happens(script);
    await script.untilEnded();
    script.mustBe("complete");
    must(begunMs(script).length >= 24, "each pack was begun twice");
  });

const onceAfterTheWait = (script: Script, what: string) => {
  const wait = async (): Promise<void> => {
    await script.untilEnded();
    mustNotRepeat(script, 24, what);
    mustNotResend(script, what);
  };
  return wait();
};

/** The worker of a pack dies once its message is hidden, while its heartbeat still says that the pack was begun. */
const diesAtOnce = () =>
  play({ seed: 14, chunkMs: () => 8_000 }, async (script) => {
    const { world, engine, must } = script;
    const { clock } = engine.client;
    script.start(leaderOnly);
    for (let count = 0; count < 2; count += 1) script.start({ ...workerOnly, threads: 1 });
    let victim: string | undefined;
    script.onDelivery = ({ message, instance }) => {
      if (message?.kind === "compute" && message.pack === 1) victim ??= instance;
    };
    let thrown = false;
    script.broken.throws = async (_run, chunk) => {
      // Nearly until then the other pack keeps the leader at work.
      if (chunk === 0) return clock.sleep(58 * seconds);
      if (chunk !== 1 || thrown) return;
      await clock.sleep(6 * seconds);
      thrown = true;
      throw new Error(reason);
    };
    script.hold = ({ op, args }) => {
      if (op === "queues.send" && String(args[1]).includes('"tries":1'))
        clock.after(1, () => engine.instances.find(({ name }) => name === victim)?.kill());
      return undefined;
    };
    await script.submit({ id: "r", chunks: 2, packSize: 1, retryAfterS: [60] });
    await script.until("a worker dies", () => engine.instances.some((one) => one.isDead()));
    const diedMs = world.nowMs();
    script.start(workerOnly);
    await script.untilEnded();
    script.mustBe("complete");
    must(world.nowMs() - diedMs >= 59 * seconds, "the pack was not tried before its time");
    mustNotResend(script, "its worker died");
  });

/** Storage takes seconds for the message of the next attempt, which is visible that much later than its note says. */
const sentLate = () =>
  play({ seed: 82, chunkMs: () => 3 * seconds }, async (script) => {
    script.start(leaderOnly);
    script.start(workerOnly);
    let thrown = false;
    script.broken.throws = (_run, chunk) => {
      if (chunk !== 2 || thrown) return;
      thrown = true;
      throw new Error(reason);
    };
    script.hold = ({ op, args }) =>
      op === "queues.send" && String(args[1]).includes('"tries":1')
        ? script.engine.client.clock.sleep(6 * seconds)
        : undefined;
    await script.submit({ id: "r", chunks: 4, packSize: 1, retryAfterS: [20] });
    await script.untilEnded();
    script.mustBe("complete");
    mustNotResend(script, "its message came seconds after its note");
  });

function mustNotResend(script: Script, what: string): void {
  const { resends = 0 } = script.run()?.state ?? {};
  if (resends > 0) script.judge.report("messages do not pile up", `${resends} resent: ${what}`);
}

const lostMeanwhile = () =>
  during(async (script) => {
    const { world, engine } = script;
    await clearQueue(engine.storage, names.urgent);
    const fromMs = world.nowMs();
    await script.untilEnded();
    mustEndBy(script, fromMs + 70 * seconds);
  }, 74);

/** Code that asks for ever: the run ends once it has waited for a day. */
const asksForEver = (tolerates: boolean) =>
  play({ seed: 75, chunkMs: () => 500 }, async (script) => {
    const { world, run, must } = script;
    script.start({ breakAfterMs: 4_000, tickEveryMs: 5 * minutes });
    script.broken.throws = (_run, chunk) => {
      if (chunk === 2) retryLater(reason, 7_200);
    };
    const fromMs = world.nowMs();
    await script.submit({
      id: "r",
      chunks: 5,
      packSize: 1,
      attempts: 1,
      ...(tolerates ? { tolerate: { chunks: 1 } } : {}),
    });
    await script.until("it ends", () => run()?.state?.finishedMs !== undefined, 30 * 60 * minutes);
    script.mustBe(tolerates ? "complete" : "failed");
    must(world.nowMs() - fromMs > 23 * 60 * minutes, "it waits for a day");
    mustEndBy(script, fromMs + 24 * 60 * minutes + 10 * minutes);
    const times = begunMs(script, 2).length;
    must(times === 13, `it was begun ${times} times`);
    await script.untilEnded();
  });

/** A chunk ends the run while others are computed and queued. */
const fails = (how: { readonly tolerate?: boolean; readonly strikes?: boolean; readonly again?: boolean }) =>
  play({ seed: 76, chunkMs: () => 4_000 }, async (script) => {
    const { world, judge, engine, run, must } = script;
    if (how.strikes === true) script.start(leaderOnly);
    script.start(leaderOnly);
    script.start(workerOnly);
    script.start(workerOnly);
    let thrown = 0;
    script.broken.throws = (_run, chunk) => {
      if (chunk !== 9 || (how.again === true && thrown > 0)) return;
      thrown += 1;
      failRun("the file is of another year");
    };
    if (how.again === true) script.queues.doubled = 1;
    const tolerate = how.tolerate === true ? { tolerate: { percent: 50 } } : {};
    await script.submit({ id: "r", chunks: 200, packSize: 1, ...tolerate });
    await script.until("it is thrown", () => judge.ledger.record("r", run()?.uid ?? "").failures.size > 0);
    const thrownMs = world.nowMs();
    if (how.strikes === true) engine.instances.find((one) => one.leading())?.kill();
    await script.until("r ends", () => run()?.state?.finishedMs !== undefined);
    script.mustBe("failed");
    mustEndBy(script, thrownMs + (how.strikes === true ? 20 : 10) * seconds);
    const { code, message } = run()?.state?.error ?? {};
    must(code === "calculation-failed", `the code of its error is ${code}`);
    must(
      message?.startsWith("the file is of another year (chunk 9") === true,
      `it says why first: ${message}`,
    );
    await script.untilEnded();
    await world.advance(6 * seconds);
    const begun = begunMs(script).length;
    await world.advance(2 * minutes);
    mustNotRepeat(script, begun, "packs after the end");
    if (how.again === true) return;
    await script.tell("retry");
    script.broken.throws = undefined;
    await script.untilEnded(2);
    script.mustBe("complete", 2);
  });

const deadline = (keep: boolean) =>
  play({ seed: 77, chunkMs: () => 500 }, async (script) => {
    const { world, run, must } = script;
    script.start({ breakAfterMs: 4_000 });
    script.broken.throws = (_run, chunk) => {
      if (chunk === 2) retryLater(reason, 2_400);
    };
    const fromMs = world.nowMs();
    await script.submit({ id: "r", chunks: 12, packSize: 1, deadline: { ms: 20 * minutes, keep } });
    await script.untilEnded();
    mustEndBy(script, fromMs + 2 * minutes);
    script.mustBe(keep ? "complete" : "failed");
    const message = run()?.state?.error?.message ?? "";
    must(keep || (message.includes("deadline") && message.includes(reason)), `it says why: ${message}`);
  });

/** A person steers a run that waits for an hour, and nobody leads. */
const steered = (steer: "resume" | "cancel") =>
  play({ seed: 78, chunkMs: () => 500 }, async (script) => {
    const { world } = script;
    script.start({ breakAfterMs: 4_000, tickEveryMs: minutes });
    const fromMs = world.nowMs();
    until(script, fromMs + 5 * minutes, () => retryLater(reason, 3_600));
    await script.submit({ id: "r", chunks: 12, packSize: 1 });
    await world.advance(10 * minutes);
    const toldMs = world.nowMs();
    if (steer === "resume") await script.tell("pause");
    if (steer === "resume") await world.advance(minutes);
    await script.tell(steer);
    await script.untilEnded();
    script.mustBe(steer === "resume" ? "complete" : "cancelled");
    mustEndBy(script, toldMs + 2 * minutes);
  });

/** All packs come back at once, and few threads take minutes for them. */
const storm = () =>
  play({ seed: 79, chunkMs: () => 2_000 }, async (script) => {
    const { world, run, must } = script;
    script.start(leaderOnly);
    script.start({ ...workerOnly, threads: 4 });
    until(script, world.nowMs() + 60 * seconds, () => retryLater(reason, 100));
    await script.submit({ id: "r", chunks: 200, packSize: 1 });
    await script.until("packs wait", () => (run()?.state?.waits?.works ?? 0) > 150);
    await script.untilEnded();
    script.mustBe("complete");
    must(begunMs(script).length >= 400, "each was begun twice");
    mustNotResend(script, "packs behind others in the queue");
  });

/** Short pauses are waited in the thread: the run fails once they are over, and nothing is computed twice for it. */
const shortPauses = (paused: number) =>
  play({ seed: 81, chunkMs: () => 500 }, async (script) => {
    script.start({ breakAfterMs: 4_000 });
    script.broken.chunks.add(1);
    await script.submit({ id: "r", chunks: 3, packSize: 1 });
    await script.untilEnded();
    script.mustBe("failed");
    const at = begunMs(script, 1);
    script.must(at.length === 1, `its pack was begun ${at.length} times`);
    const tookS = (script.world.nowMs() - (at[0] ?? 0)) / seconds;
    script.must(tookS >= paused && tookS < paused + 8, `it failed after ${tookS} s`);
  });

/** Longer pauses that a run gives are those between the deliveries of a pack. */
const pauses = (given: readonly number[], expected: readonly number[]) =>
  play({ seed: 81, chunkMs: () => 500 }, async (script) => {
    script.start({ breakAfterMs: 4_000 });
    script.broken.chunks.add(1);
    await script.submit({ id: "r", chunks: 3, packSize: 1, retryAfterS: [...given] });
    await script.untilEnded();
    script.mustBe("failed");
    const at = begunMs(script, 1);
    const waited = at.slice(1).map((ms, index) => Math.floor((ms - (at[index] ?? 0)) / seconds));
    const fits =
      waited.length === expected.length &&
      waited.every((s, index) => s - (expected[index] ?? 0) <= 5 && s >= (expected[index] ?? 0));
    script.must(fits, `attempts are ${waited.join(", ")} s apart`);
  });

export const backOff: Readonly<Record<string, Scenario>> = {
  "all chunks of a run wait for an hour, and nobody leads it": () => allWait("chunks"),
  "a plan waits for an hour, and nobody leads its run": () => allWait("plan"),
  "the leader dies while all packs wait, and nothing is sent twice": () =>
    during((script) => {
      script.engine.instances.find((one) => one.leading())?.kill();
      return onceAfterTheWait(script, "the leader died");
    }, 72),
  "the workers die while their packs wait, and nothing is sent twice": () =>
    during((script) => {
      for (const one of script.engine.instances.slice(2)) one.kill();
      script.start(workerOnly);
      return onceAfterTheWait(script, "the workers died");
    }, 73),
  "a worker dies right after its pack began to wait, and the pack is not resent": diesAtOnce,
  "the message of a pack that waits is sent seconds after its note, and nothing is resent": sentLate,
  "the messages of packs that wait are lost, and they are resent after the wait": lostMeanwhile,
  "a chunk asks for ever to be tried later, and its run fails after a day": () => asksForEver(false),
  "a chunk asks for ever to be tried later, and is a gap after a day": () => asksForEver(true),
  "code ends its run while packs are computed and queued": () => fails({}),
  "code ends its run, which tolerates failed chunks": () => fails({ tolerate: true }),
  "code ends its run, and the leader dies before it knows": () => fails({ strikes: true }),
  "code ends its run, and another attempt at its chunk succeeds": () => fails({ again: true }),
  "what is left waits until after the deadline, and the run fails at once": () => deadline(false),
  "what is left waits until after the deadline, and the run keeps what is done at once": () => deadline(true),
  "a pause and a resume end the wait of a run that nobody leads": () => steered("resume"),
  "a cancel ends a run that nobody leads while it waits": () => steered("cancel"),
  "all packs of a run come back at once, and wait in the queue for minutes": storm,
  "what throws is tried at once, and after 1, 3 and 9 s": () => shortPauses(13),
  "what throws is tried after the pauses that its run gives": () => pauses([60, 0, 30], [60, 30, 30]),
};
