import { expect, test } from "vitest";
import { readClocks } from "../../src/election/cappedCall.ts";
import { stopWorkDeadline } from "../../src/election/hold/stopWorkDeadline.ts";
import { electionSettings } from "../../src/election/settings.ts";
import { virtualWorld } from "../support/virtualClock.ts";

function started(breakAfterMs = 0) {
  const world = virtualWorld();
  const clock = world.clock();
  let passedAtMs: number | undefined;
  const deadline = stopWorkDeadline(clock, electionSettings({ breakAfterMs }), readClocks(clock), () => {
    passedAtMs = world.nowMs();
  });
  return { world, clock, deadline, passedAtMs: () => passedAtMs };
}

test("the stop-work deadline passes at lease less margin, by its own timer", async () => {
  const { world, deadline, passedAtMs } = started();
  await world.advance(12_990);
  expect([passedAtMs(), deadline.hasPassed()]).toEqual([undefined, false]);
  await world.advance(20);
  expect(passedAtMs()).toBeCloseTo(13_000, -1);
});

test("the deadline counts from when a request was sent, not from its reply", async () => {
  const { world, clock, deadline, passedAtMs } = started();
  await world.advance(5_000);
  const sentAt = readClocks(clock);
  await world.advance(1_900);
  deadline.leaseConfirmed(sentAt);
  await world.advance(60_000);
  expect(passedAtMs()).toBeCloseTo(18_000, -1);
});

test("an older reply never changes the deadline, and a late one does not revive it", async () => {
  const { world, clock, deadline } = started();
  const early = readClocks(clock);
  await world.advance(5_000);
  deadline.leaseConfirmed(readClocks(clock));
  deadline.leaseConfirmed(early);
  expect(deadline.remainingMs()).toBeCloseTo(13_000, -1);
  await world.advance(20_000);
  deadline.leaseConfirmed(readClocks(clock));
  expect([deadline.hasPassed(), deadline.remainingMs()]).toEqual([true, 0]);
});

test("with early takeover the deadline is one second before the published threshold, from the last confirmed heartbeat", async () => {
  const { world, clock, deadline, passedAtMs } = started(4_000);
  await world.advance(2_000);
  deadline.heartbeatConfirmed(readClocks(clock));
  await world.advance(1_000);
  deadline.heartbeatConfirmed(readClocks(clock));
  await world.advance(60_000);
  expect(passedAtMs()).toBeCloseTo(6_000, -1);
});

test("without early takeover heartbeats do not change the deadline", async () => {
  const { world, clock, deadline, passedAtMs } = started();
  deadline.heartbeatConfirmed(readClocks(clock));
  await world.advance(60_000);
  expect(passedAtMs()).toBeCloseTo(13_000, -1);
});

test("a stopped process sees the passed deadline synchronously, before any of its timers has fired", async () => {
  const { world, clock, deadline, passedAtMs } = started();
  await world.advance(1_000);
  clock.pause();
  await world.advance(20_000);
  expect(passedAtMs()).toBeUndefined();
  expect(deadline.hasPassed()).toBe(true);
  expect(passedAtMs()).toBe(21_000);
});

test("a wall clock set forward is noticed by the timer within half a second", async () => {
  const { world, clock, passedAtMs } = started();
  await world.advance(2_100);
  clock.jumpWall(3_600_000);
  await world.advance(500);
  expect(passedAtMs()).toBeLessThan(2_610);
});

test("a closed deadline never fires", async () => {
  const { world, deadline, passedAtMs } = started();
  deadline.close();
  await world.advance(60_000);
  expect(passedAtMs()).toBeUndefined();
});
