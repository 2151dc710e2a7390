import { describe, expect, it } from "vitest";
import { type KillFacts, type KillState, nextStep, noKillYet } from "../../src/cli/demo/kill.ts";
import { makeTracker, speedOf } from "../../src/cli/demo/tracker.ts";
import type { LeaderView } from "../../src/client/leader.ts";
import type { RunView } from "../../src/client/runView.ts";
import type { InstanceEvent } from "../../src/local/instances.ts";
import { noCalls } from "../../src/model/calls.ts";

const tracker = () => makeTracker({ names: ["node-1", "node-2"], cores: 2, threads: 1, startedMs: 0 });
const state = (instance: string, to: "starting" | "running" | "dead", reason?: string): InstanceEvent => ({
  ...{ instance, kind: "state", state: to },
  ...(reason === undefined ? {} : { reason }),
});
const computed = (instance: string, outcome = "created"): InstanceEvent => ({
  ...{ instance, kind: "log", level: "debug", function: "worker" },
  message: JSON.stringify({ event: "work-done", kind: "compute", outcome }),
});
const leads = (holder: string, term: number): LeaderView => ({
  ...{ kind: "leading", holder, term, since: "2026-11-21T00:00:00Z", beatAgeS: 0 },
  ...{ lease: "leased", cameBy: "free", notes: {}, terms: [] },
});
const run = (done: number, total: number): RunView =>
  ({ active: true, phase: "computing", packs: { done, total, failed: 0, sent: total, again: 0 } }) as RunView;

describe("what the demo knows", () => {
  it("the demo has no leader from the moment the leader died, whatever its record says", () => {
    const it = tracker();
    it.onEvent(state("node-1", "running"), 0);
    it.seeLeader(leads("node-1", 1), 100);
    expect(it.view(600).leader).toEqual({ kind: "leading", name: "node-1", term: 1, forMs: 500 });
    it.onEvent(state("node-1", "dead", "killed"), 1_000);
    it.seeLeader(leads("node-1", 1), 1_200);
    expect(it.view(3_000).leader).toEqual({ kind: "nobody", forMs: 2_000 });
    expect(it.leader()).toBeUndefined();
    it.seeLeader(leads("node-2", 2), 4_000);
    expect(it.view(4_000).leader).toMatchObject({ kind: "leading", name: "node-2", term: 2 });
  });

  const started = (invocation: string, name: string): InstanceEvent => ({
    ...{ instance: "node-1", kind: "started", invocation, function: name },
  });

  it("packs are counted once each while there is no leader", () => {
    const it = tracker();
    it.seeRun(run(1, 4), 0);
    for (const event of [computed("node-1"), computed("node-2"), computed("node-2", "existed")])
      it.onEvent(event, 10);
    expect(it.view(20).packs).toEqual({ done: 2, total: 4 });
    it.seeRun(run(3, 4), 30);
    expect(it.share()).toBe(0.75);
    expect(it.view(40).instances.map(({ packs }) => packs)).toEqual([1, 1]);
  });

  it("the activity of each instance follows its events", () => {
    const it = tracker();
    const doing = () => it.view(0).instances[0]?.doing;
    const seen = [doing()];
    const events = [
      state("node-1", "running"),
      started("a", "coordinator"),
      started("b", "worker"),
      started("c", "workerUrgent"),
      state("node-1", "dead", "killed"),
      state("node-1", "starting"),
      state("node-1", "running"),
    ];
    for (const event of events) {
      it.onEvent(event, 0);
      seen.push(doing());
    }
    it.seeLeader(leads("node-1", 1), 0);
    expect([...seen, doing()]).toEqual([
      ...["starting", "idle", "idle", "computing 1 pack", "computing 1 pack, 1 waiting"],
      ...["killed", "restarting", "idle", "leading"],
    ]);
  });

  it("the host's calls are summed over restarts since the submit, but for those that the status counts", () => {
    const it = tracker();
    const stats = (queue: number): InstanceEvent => ({
      ...{ instance: "node-1", kind: "stats", running: 0 },
      hostCalls: { ...noCalls, queue },
    });
    it.onEvent(stats(10), 0);
    it.submitted(1e9);
    it.onEvent(stats(15), 1);
    it.onEvent(started("a", "wake"), 1);
    it.onEvent(state("node-1", "starting"), 2);
    it.onEvent(stats(3), 3);
    expect(it.hostCalls().queue).toBe(8);
    it.onEvent(started("b", "worker"), 4);
    expect(it.hostCalls().queue).toBe(6);
  });

  it("the rate is measured over the last seconds only", () => {
    const samples = [0, 1, 2, 8, 9, 10].map((s) => ({ atMs: s * 1_000, done: s < 5 ? 0 : s }));
    expect(speedOf(samples, 10_000)).toBe(1);
    expect(speedOf(samples.slice(0, 1), 0)).toBeUndefined();
  });
});

describe("the kill", () => {
  const facts = (change: Partial<KillFacts>): KillFacts => ({
    ...{ nowMs: 0, share: 0.1, leader: { name: "node-1", term: 1 }, instances: 3 },
    ...change,
  });
  const killed: KillState = { killed: { name: "node-1", term: 1, atMs: 1_000 }, restarted: false };

  it("the leader is killed once two fifths of the packs are done", () => {
    expect(nextStep(noKillYet, facts({})).step).toBeUndefined();
    expect(nextStep(noKillYet, facts({ share: 0.4, leader: undefined })).step).toBeUndefined();
    expect(nextStep(noKillYet, facts({ share: 0.4, nowMs: 7 }))).toEqual({
      step: "kill",
      state: { killed: { name: "node-1", term: 1, atMs: 7 }, restarted: false },
    });
    expect(nextStep(noKillYet, facts({ share: 1 })).step).toBeUndefined();
  });

  it("the killed instance is restarted three seconds after another took over", () => {
    expect(nextStep(killed, facts({ nowMs: 2_000, leader: undefined })).step).toBeUndefined();
    const taken = nextStep(killed, facts({ nowMs: 5_500, leader: { name: "node-2", term: 2 } }));
    expect(taken.step).toBe("taken-over");
    expect(taken.state.takeover).toEqual({ by: "node-2", term: 2, afterMs: 4_500, atMs: 5_500 });
    expect(nextStep(taken.state, facts({ nowMs: 8_400 })).step).toBeUndefined();
    const restart = nextStep(taken.state, facts({ nowMs: 8_500 }));
    expect(restart.step).toBe("restart");
    expect(nextStep(restart.state, facts({ nowMs: 60_000 })).step).toBeUndefined();
  });

  it("without a takeover a lone instance is restarted after three seconds, another after half a minute", () => {
    expect(nextStep(killed, facts({ nowMs: 4_000, leader: undefined, instances: 1 })).step).toBe("restart");
    expect(nextStep(killed, facts({ nowMs: 30_900, leader: undefined })).step).toBeUndefined();
    expect(nextStep(killed, facts({ nowMs: 31_000, leader: undefined })).step).toBe("restart");
  });
});
