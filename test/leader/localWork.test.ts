import { expect, test } from "vitest";
import { electionSettings } from "../../src/election/settings.ts";
import { localWork } from "../../src/engine/leader/perform/localWork.ts";
import { Coordinator } from "../../src/engine/leader/tick.ts";
import { limits } from "../../src/engine/model/limits.ts";
import type { WorkMessage } from "../../src/engine/model/message.ts";
import { virtualWorld } from "../support/virtualClock.ts";
import { leadInMemory } from "./leadInMemory.ts";

const message: WorkMessage = { v: 1, run: "r", uid: "u", gen: 1, send: 1, turn: 0, kind: "plan" };
const work = { urgent: true, calculation: "c", limitMs: 60_000 };

/** A worker that takes all, and ends it when it is told to. */
function worker() {
  const ends: (() => void)[] = [];
  return {
    ends,
    recordPoison: async () => {},
    take: () => new Promise<void>((resolve) => void ends.push(resolve)),
  };
}

test("what was sent before, and what must be isolated, is never computed by the leader's own worker", () => {
  const clock = virtualWorld().clock();
  const local = localWork({ worker: worker(), clock }, { untilMs: Number.POSITIVE_INFINITY });
  const takes = (more: Partial<WorkMessage>) =>
    local.take({ ...message, ...more } as WorkMessage, work, () => {});
  expect([takes({}), takes({ repeat: true }), takes({ isolated: true })]).toEqual([true, false, false]);
});

test("only what can reach its time limit before the host ends the invocation is taken", () => {
  const clock = virtualWorld().clock();
  const untilMs = clock.monotonicMs() + limits.beginsHereMs + work.limitMs;
  const takesBy = (at: number) =>
    localWork({ worker: worker(), clock }, { untilMs: at }).take(message, work, () => {});
  expect([takesBy(untilMs), takesBy(untilMs - 1)]).toEqual([true, false]);
});

test("each end says how much of its run is left, and all have ended when it is settled", async () => {
  const own = worker();
  const local = localWork({ worker: own, clock: virtualWorld().clock() }, { untilMs: 1e12 });
  const left: number[] = [];
  for (const uid of ["u", "u", "other"]) local.take({ ...message, uid }, work, (more) => left.push(more));
  let settled = false;
  const settling = local.settled().then(() => {
    settled = true;
  });
  own.ends[0]?.();
  own.ends[2]?.();
  await new Promise(setImmediate);
  expect([left, local.has("u"), local.has("other"), settled]).toEqual([[1, 0], true, false, false]);
  own.ends[1]?.();
  await settling;
  expect([left, local.has("u")]).toEqual([[1, 0, 0], false]);
});

test("an invocation that led lasts until its own work has ended, and meanwhile another may lead in this process", async () => {
  const account = leadInMemory();
  await account.addRun("r");
  const own = worker();
  const clock = account.world.clock();
  const { storage, names, world } = account;
  const stopping = new AbortController();
  const one = new Coordinator(
    { storage, names, clock, random: world.random, worker: own, log() {}, onElection() {} },
    {
      ...{
        holder: "one",
        election: electionSettings({ budgetMs: 60_000 }),
        packLimitMs: 300_000,
        keepDays: 0,
      },
      loop: { loopMs: 2_000, fastLoopMs: 100 },
    },
  );
  const tick = (signal?: AbortSignal) =>
    one.tick({
      startedBy: "tick",
      startedAtMonotonicMs: clock.monotonicMs(),
      ...(signal && { stopping: signal }),
    });
  let over = false;
  const led = tick(stopping.signal).then(() => {
    over = true;
  });
  await world.until(() => own.ends.length > 0, 30_000);
  expect(one.pollNow()).toBe(true);
  stopping.abort();
  await world.advance(20_000);
  expect([over, one.pollNow()]).toEqual([false, false]);
  const ended = new AbortController();
  const again = tick(ended.signal);
  await world.until(() => one.pollNow(), 30_000);
  ended.abort();
  for (const end of own.ends) end();
  await world.finish(Promise.all([led, again]));
  expect(over).toBe(true);
});
