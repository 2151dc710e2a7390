import { expect, it } from "vitest";
import {
  type PlanningPorts,
  planInThread,
  planWithin,
} from "../../../src/engine/client/estimate/planInThread.ts";
import { readSettings } from "../../../src/engine/model/settings.ts";
import { localCode } from "../../support/localCode.ts";
import { virtualWorld } from "../../support/virtualClock.ts";
import { calculations, failureOf } from "../clientWorld.ts";

const request = { calculation: "sum", params: { to: 100 } };
const access = {
  list: () => Promise.reject(new Error("no files")),
  read: () => Promise.reject(new Error("no files")),
};

/** A thread with the code of `sum`; one that hangs never ends a plan until it is stopped, as a real thread. */
function planning(options: { hangs?: boolean } = {}) {
  const world = virtualWorld({ seed: 1 });
  const code = localCode(calculations);
  let stops = 0;
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => undefined);
  const ports: PlanningPorts = {
    ...{ calculations, access, clock: world.clock(), settings: readSettings({}) },
    planWorkers: async () => ({ workers: 4, workersFrom: "this test" }),
    startThread: async () => ({
      ...code,
      plan: (...given) => (options.hangs === true ? ended.promise : code.plan(...given)),
      stop: async () => {
        stops += 1;
        ended.reject(new Error("the thread was ended"));
      },
    }),
  };
  return { world, ports, stops: () => stops };
}

it("a plan ends its thread, whether it succeeds or fails", async () => {
  const good = planning();
  expect(await planInThread(request, good.ports, new AbortController().signal)).toMatchObject({
    chunks: 100,
  });
  expect(good.stops()).toBe(1);
  const bad = planning();
  const wrong = { calculation: "sum", params: { to: -1 } };
  expect(await failureOf(planInThread(wrong, bad.ports, new AbortController().signal))).toMatchObject({
    code: "bad-parameter",
  });
  expect(bad.stops()).toBe(1);
});

it("a plan that hangs is ended at its limit, with an error that says so", async () => {
  const { world, ports, stops } = planning({ hangs: true });
  const failed = failureOf(planWithin(() => ports, 5_000)(request));
  expect(await world.finish(failed)).toMatchObject({ code: "plan-over-limit", message: /5 s/ });
  expect(stops()).toBeGreaterThan(0);
});

it("few plans run at once, and others again afterwards", async () => {
  const { world, ports } = planning({ hangs: true });
  const plan = planWithin(() => ports, 5_000);
  const running = [failureOf(plan(request)), failureOf(plan(request))];
  expect(await failureOf(plan(request))).toMatchObject({ code: "plans-at-once", reason: "conflict" });
  await world.finish(Promise.all(running));
  expect(await world.finish(failureOf(plan(request)))).toMatchObject({ message: "the thread was ended" });
});
