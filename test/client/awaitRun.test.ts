import { expect, test } from "vitest";
import { awaitRun, type Lead } from "../../src/engine/client/awaitRun.ts";
import { submit } from "../../src/engine/client/submit.ts";
import type { State } from "../../src/engine/model/state.ts";
import { clientWorld } from "./clientWorld.ts";

const layout = { chunks: 95, packSize: 10, shardSize: 256, fanIn: 1000, packMs: 1 };
const ended = { phase: "failed", error: { code: "x", message: "y" } } as const;

async function waitingRun(state?: Partial<State>) {
  const { client, world, putState } = await clientWorld();
  const run = await submit(client, { calculation: "sum", params: { to: 1 }, id: "r1" });
  const put = (given: Partial<State>) => putState(run, given);
  if (state !== undefined) await put(state);
  const startMs = world.nowMs();
  return {
    ...{ world, put },
    /** The phase of the answer, and after which time it came. */
    wait: async (waitS: number, lead?: Lead) => {
      const { view } = await awaitRun(client, "r1", waitS * 1_000, lead);
      return [view.phase, (world.nowMs() - startMs) / 1_000];
    },
  };
}

/** Leads until it is told to stop, and then takes so long to hand over. */
function leading(handOver: Promise<void> = Promise.resolve()) {
  const told: string[] = [];
  let end = (): void => {};
  const lead: Lead = (until) => {
    told.push("leads");
    return new Promise<void>((resolve) => {
      end = resolve;
      until.addEventListener("abort", () => {
        told.push("hands over");
        handOver.then(resolve);
      });
    });
  };
  return { lead, told, end: () => end() };
}

test("a run that no leader has seen is led by who waits for it, through all its phases, and answered when the term is over", async () => {
  const { world, put, wait } = await waitingRun();
  const { lead, told, end } = leading();
  const answer = wait(60, lead);
  await world.advance(100);
  await put({ phase: "computing", layout });
  await world.advance(3_000);
  await put(ended);
  end();
  expect(await world.finish(answer)).toEqual(["failed", 3.1]);
  expect(told).toEqual(["leads", "hands over"]);
});

test.each([
  ["that somebody leads", { phase: "computing", layout }, 60],
  ["that has ended", ended, 60],
] as const)("nobody leads a run %s for who waits for it", async (_, state, waitS) => {
  const { world, put, wait } = await waitingRun(state);
  const { lead, told } = leading();
  const answer = wait(waitS, lead);
  await world.advance(1_500);
  await put(ended);
  await world.finish(answer);
  expect(told).toEqual([]);
});

test("who does not wait does not lead", async () => {
  const { wait } = await waitingRun();
  const { lead, told } = leading();
  expect(await wait(0, lead)).toEqual(["waiting", 0]);
  expect(told).toEqual([]);
});

test("where another leads, the answer comes with the next phase", async () => {
  const { world, put, wait } = await waitingRun();
  const answer = wait(60, async () => "follower");
  await world.advance(1_500);
  await put({ phase: "computing", layout });
  const [phase, atS] = await world.finish(answer);
  expect(phase).toBe("computing");
  expect(atS).toBeLessThan(2);
});

test.each([
  ["hands over at once", Promise.resolve(), 5],
  ["does not get away from its lease", new Promise<void>(() => {}), 6],
] as const)("the answer comes in time where who leads %s", async (_, handOver, atS) => {
  const { world, put, wait } = await waitingRun();
  const { lead, told } = leading(handOver);
  const answer = wait(5, lead);
  await world.advance(100);
  await put({ phase: "computing", layout });
  expect(await world.finish(answer)).toEqual(["computing", atS]);
  expect(told).toEqual(["leads", "hands over"]);
});
