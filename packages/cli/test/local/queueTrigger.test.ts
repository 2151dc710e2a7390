import { describe, expect, it } from "vitest";
import { StorageError } from "../../../../src/engine/model/errors.ts";
import { memoryStorage } from "../../../../src/engine/storage/memory/memoryStorage.ts";
import type { QueueStore } from "../../../../src/engine/storage/queuePort.ts";
import { makeHostLog } from "../../../../src/host/hostLog.ts";
import { type QueueTriggerOptions, startQueueListener } from "../../../../src/host/queueTrigger.ts";
import { manualClock, plainRandom } from "./manualClock.ts";

type Handler = (body: string, delivery: number) => Promise<boolean> | boolean;

/** A listener on the queue `work` of in-memory storage. */
function setUp(
  handler: Handler,
  given: Partial<QueueTriggerOptions> = {},
  wrap = (real: QueueStore) => real,
) {
  const clock = manualClock();
  const random = plainRandom();
  const real = memoryStorage({ clock, random }).queues;
  const logged: string[] = [];
  const runs: { body: string; atMs: number; delivery: number }[] = [];
  const listen = () =>
    startQueueListener({
      queue: "work",
      batchSize: 1,
      newBatchThreshold: 0,
      maxPollingIntervalMs: 1_000,
      visibilityTimeoutMs: 30_000,
      maxDequeueCount: 5,
      queues: wrap(real),
      log: makeHostLog((message) => message.kind === "log" && logged.push(message.message)),
      clock,
      random,
      async invoke({ text: body, dequeueCount: delivery }) {
        runs.push({ body, atMs: clock.monotonicMs(), delivery });
        return handler(body, delivery);
      },
      ...given,
    });
  const texts = async (queue: string) => (await real.peek(queue, 32)).map((one) => one.text);
  const held = async (queue: string) => {
    const stats = await real.stats(queue);
    return stats.kind === "found" ? stats.approximateCount : stats.kind;
  };
  return { clock, queues: real, listen, logged, runs, texts, held };
}

describe("a queue function", () => {
  it("receives its messages one after the other and deletes those that succeeded", async () => {
    const { clock, queues, listen, runs, held } = setUp(() => true);
    await queues.ensureQueue("work");
    for (const text of ["a", "b", "c"]) await queues.send("work", text);
    const listener = listen();
    await clock.advance(1_000);
    await listener.stop();
    expect(runs.map((one) => one.body)).toEqual(["a", "b", "c"]);
    expect(await held("work")).toBe(0);
  });

  it("gets a failed message again after visibilityTimeout, and after the last delivery it is in the poison queue", async () => {
    const { clock, queues, listen, runs, texts, held } = setUp(() => false, { maxDequeueCount: 3 });
    await queues.ensureQueue("work");
    await queues.send("work", '{"bad":1}');
    const listener = listen();
    await clock.advance(65_000);
    await listener.stop();
    expect(runs.map((one) => one.delivery)).toEqual([1, 2, 3]);
    const pauses = runs.slice(1).map((one, index) => one.atMs - (runs[index]?.atMs ?? 0));
    for (const pause of pauses) expect(pause).toBeGreaterThanOrEqual(30_000);
    for (const pause of pauses) expect(pause).toBeLessThanOrEqual(31_000);
    expect(await texts("work-poison")).toEqual(['{"bad":1}']);
    expect(await held("work")).toBe(0);
  });

  it("never runs for a message that was delivered too often already", async () => {
    const { clock, queues, listen, runs, texts, logged } = setUp(() => true, { maxDequeueCount: 1 });
    await queues.ensureQueue("work");
    await queues.send("work", "x");
    const [taken] = await queues.receive("work", { max: 1, visibilityS: 1 });
    expect(taken?.dequeueCount).toBe(1);
    const listener = listen();
    await clock.advance(3_000);
    await listener.stop();
    expect(runs).toEqual([]);
    expect(await texts("work-poison")).toEqual(["x"]);
    expect(logged).toEqual([expect.stringContaining("goes to work-poison after 2 deliveries")]);
  });

  it("on a poison queue leaves a message hidden that fails for the last time", async () => {
    const { clock, queues, listen, runs, held, texts } = setUp(() => false, {
      queue: "work-poison",
      maxDequeueCount: 1,
    });
    await queues.ensureQueue("work-poison");
    await queues.send("work-poison", "x");
    const listener = listen();
    await clock.advance(500_000);
    expect(runs).toHaveLength(1);
    // After its ten minutes it is looked at, but the function does not run for it any more.
    await clock.advance(200_000);
    await listener.stop();
    expect(runs).toHaveLength(1);
    expect(await texts("work-poison")).toEqual([]);
    expect(await held("work-poison")).toBe(1);
    expect(await held("work-poison-poison")).toBe("missing");
  });

  it("on a poison queue leaves a message hidden for ten minutes after each failure", async () => {
    const { clock, queues, listen, runs } = setUp(() => false, { queue: "work-poison" });
    await queues.ensureQueue("work-poison");
    await queues.send("work-poison", "x");
    const listener = listen();
    await clock.advance(1_900_000);
    await listener.stop();
    const pauses = runs.slice(1).map((one, index) => one.atMs - (runs[index]?.atMs ?? 0));
    expect(pauses.map((ms) => Math.floor(ms / 60_000))).toEqual([10, 10, 10]);
  });

  it("tells the receipt of its message after each renewal", async () => {
    const receipts: string[] = [];
    const { clock, queues, listen } = setUp(
      async () => {
        await clock.sleep(700_000);
        return true;
      },
      { onReceipt: ({ receipt }) => receipts.push(receipt) },
    );
    await queues.ensureQueue("work");
    await queues.send("work", "long");
    const listener = listen();
    await clock.advance(800_000);
    await listener.stop();
    expect(new Set(receipts).size).toBe(2);
  });

  it("keeps its message hidden while it runs, however long", async () => {
    const { clock, queues, listen, runs, held } = setUp(async () => {
      await clock.sleep(3_600_000);
      return true;
    });
    await queues.ensureQueue("work");
    await queues.send("work", "long");
    const listener = listen();
    let seen = 0;
    for (let minute = 0; minute < 59; minute += 1) {
      await clock.advance(60_000);
      seen += (await queues.peek("work", 1)).length;
    }
    await clock.advance(120_000);
    await listener.stop();
    expect(seen).toBe(0);
    expect(runs).toHaveLength(1);
    expect(await held("work")).toBe(0);
  });

  it("logs that another instance received its message, and does not touch it", async () => {
    const { clock, queues, listen, logged, held } = setUp(
      async () => {
        await clock.sleep(5_000);
        return true;
      },
      { timings: { hiddenS: 1, renewEveryMs: 60_000, renewAgainMs: 1_000 } },
    );
    await queues.ensureQueue("work");
    await queues.send("work", "x");
    const listener = listen();
    await clock.advance(2_000);
    await queues.receive("work", { max: 1, visibilityS: 600 });
    await clock.advance(5_000);
    await listener.stop();
    expect(logged).toEqual([expect.stringContaining("is no longer ours to delete")]);
    expect(await held("work")).toBe(1);
  });
});

describe("a queue listener", () => {
  it("polls again only when at most newBatchThreshold messages run", async () => {
    let most = 0;
    let running = 0;
    const receives: number[] = [];
    const { clock, queues, listen, runs } = setUp(
      async (body) => {
        running += 1;
        most = Math.max(most, running);
        await clock.sleep(Number(body));
        running -= 1;
        return true;
      },
      { batchSize: 3, newBatchThreshold: 1 },
      (real) => ({
        ...real,
        receive: async (queue, options) => {
          receives.push(running);
          return real.receive(queue, options);
        },
      }),
    );
    await queues.ensureQueue("work");
    for (const ms of [10_000, 20_000, 30_000, 10_000, 10_000, 10_000]) await queues.send("work", String(ms));
    const listener = listen();
    await clock.advance(19_900);
    expect(runs).toHaveLength(3);
    await clock.advance(200);
    expect(runs).toHaveLength(6);
    await clock.advance(30_000);
    await listener.stop();
    expect(most).toBe(4);
    expect(Math.max(...receives)).toBe(1);
  });

  it("polls again at once after messages, and ever more rarely while the queue is empty", async () => {
    const polledMs: number[] = [];
    const { clock, queues, listen } = setUp(
      () => true,
      {},
      (real) => ({
        ...real,
        receive: async (queue, options) => {
          polledMs.push(clock.monotonicMs());
          return real.receive(queue, options);
        },
      }),
    );
    await queues.ensureQueue("work");
    await queues.send("work", "x");
    const listener = listen();
    await clock.advance(4_500);
    await listener.stop();
    expect(polledMs).toEqual([0, 0, 100, 300, 600, 1_100, 2_000, 3_000, 4_000]);
  });

  it("counts a missing queue as empty and logs nothing", async () => {
    const { clock, queues, listen, runs, logged } = setUp(() => true);
    const listener = listen();
    await clock.advance(60_000);
    await queues.ensureQueue("work");
    await queues.send("work", "late");
    await clock.advance(1_100);
    await listener.stop();
    expect(runs).toHaveLength(1);
    expect(logged).toEqual([]);
  });

  it("logs once that storage fails, goes on polling, and logs when it is back", async () => {
    let broken = true;
    const { clock, queues, listen, runs, logged } = setUp(
      () => true,
      {},
      (real) => ({
        ...real,
        receive: async (queue, options) => {
          if (broken) throw new StorageError("busy", "", undefined, "no connection");
          return real.receive(queue, options);
        },
      }),
    );
    await queues.ensureQueue("work");
    await queues.send("work", "x");
    const listener = listen();
    await clock.advance(30_000);
    expect(logged).toEqual(["work cannot be read, trying again: no connection"]);
    broken = false;
    await clock.advance(2_000);
    await listener.stop();
    expect(runs).toHaveLength(1);
    expect(logged).toHaveLength(2);
  });

  it("lets a message become visible again when storage did not take the end of its delivery", async () => {
    let failures = 1;
    const { clock, queues, listen, runs, logged, held } = setUp(
      () => true,
      { timings: { hiddenS: 10, renewEveryMs: 5_000, renewAgainMs: 1_000 } },
      (real) => ({
        ...real,
        remove: async (queue, id, receipt) => {
          failures -= 1;
          if (failures >= 0) throw new StorageError("busy", "", 503, "busy");
          return real.remove(queue, id, receipt);
        },
      }),
    );
    await queues.ensureQueue("work");
    await queues.send("work", "x");
    const listener = listen();
    await clock.advance(12_000);
    await listener.stop();
    expect(runs.map((one) => one.delivery)).toEqual([1, 2]);
    expect(logged).toEqual([expect.stringContaining("comes back")]);
    expect(await held("work")).toBe(0);
  });

  it("releases messages that it received during a stop", async () => {
    let stopNow: () => void = () => undefined;
    const { clock, queues, listen, runs, texts } = setUp(
      () => true,
      {},
      (real) => ({
        ...real,
        receive: async (queue, options) => {
          const messages = await real.receive(queue, options);
          stopNow();
          return messages;
        },
      }),
    );
    await queues.ensureQueue("work");
    await queues.send("work", "x");
    let stopped: Promise<void> | undefined;
    stopNow = () => {
      stopped ??= listener.stop();
    };
    const listener = listen();
    await clock.advance(100);
    await stopped;
    expect(runs).toEqual([]);
    expect(await texts("work")).toEqual(["x"]);
  });
});
