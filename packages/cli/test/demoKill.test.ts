import { describe, expect, it } from "vitest";
import { instanceTrack } from "../demo/instanceTrack.ts";
import { type KillFacts, type KillState, nextStep, noKillYet } from "../demo/kill.ts";
import type { InstanceEvent } from "../local/instances.ts";

const state = (to: "starting" | "running" | "dead", reason?: string): InstanceEvent => ({
  ...{ instance: "node-1", kind: "state", state: to },
  ...(reason === undefined ? {} : { reason }),
});
const started = (invocation: string, name: string): InstanceEvent => ({
  ...{ instance: "node-1", kind: "started", invocation, function: name },
});
const computed = (outcome: string): InstanceEvent => ({
  ...{ instance: "node-1", kind: "log", level: "debug", function: "worker" },
  message: JSON.stringify({ event: "work-done", kind: "compute", outcome }),
});

describe("what the demo knows of an instance", () => {
  it("its activity follows its events", () => {
    const track = instanceTrack("node-1", 1);
    const seen = [track.fact(false).doing];
    for (const event of [
      state("running"),
      started("a", "coordinator"),
      started("b", "worker"),
      started("c", "workerUrgent"),
      state("dead", "killed"),
      state("starting"),
      state("running"),
    ]) {
      track.onEvent(event);
      seen.push(track.fact(false).doing);
    }
    expect([...seen, track.fact(true).doing]).toEqual([
      ...["starting", "idle", "idle", "computing 1 pack", "computing 1 pack, 1 waiting"],
      ...["killed", "starting", "idle", "leading"],
    ]);
  });

  it("a pack counts once, for who wrote its partial", () => {
    const track = instanceTrack("node-1", 1);
    for (const outcome of ["created", "existed"]) track.onEvent(computed(outcome));
    expect(track.fact(false).done).toBe("1 pack");
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
    expect(taken.state.takeover).toEqual({ name: "node-2", term: 2, afterMs: 4_500, atMs: 5_500 });
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
