import { describe, expect, test } from "vitest";
import type { AnyCalculation } from "../../src/engine/calculation/contract.ts";
import { decodeJson } from "../../src/engine/model/decode.ts";
import { CalculationError, LeasefoldError, StorageError } from "../../src/engine/model/errors.ts";
import { limits } from "../../src/engine/model/limits.ts";
import type { WorkMessage } from "../../src/engine/model/message.ts";
import { failureSchema, type Spec } from "../../src/engine/model/run.ts";
import { OtherCodeError } from "../../src/engine/worker/attempt/rightCode.ts";
import { common, computeOf, inlineCode, joining, workerWorld } from "./workerWorld.ts";

const record = "failed/00000/00000001.001.001";
const throws: AnyCalculation["compute"] = () => {
  throw new Error("no luck");
};

/** Three packs of one chunk, and the message of the second one. */
async function planned(compute: AnyCalculation["compute"] = joining.compute, more: Partial<Spec> = {}) {
  const pausesMs: number[] = [];
  const world = await workerWorld(inlineCode({ ...joining, compute }, pausesMs));
  await world.submit({ calculation: "joining", params: { chunks: 3 }, packSize: 1, ...more });
  await world.work({ ...common, kind: "plan" });
  const message = computeOf(await world.plan(), 1);
  const left = () => world.list("runs").filter((name) => /^(failed|parts)/.test(name));
  const failure = async (name = record) =>
    decodeJson(failureSchema, await world.bytesOf(world.names.runs, `r/u/${name}`), name);
  /** User code fails with this error of the pool. */
  const failing = (error: unknown) =>
    Object.assign(world.ports.userCode, { compute: () => Promise.reject(error) });
  return { world, message, left, failure, failing, pausesMs };
}

describe("an attempt that throws", () => {
  test("is made again in its thread after short pauses, and only at the chunk that threw", async () => {
    const begun: number[] = [];
    const compute: AnyCalculation["compute"] = (chunk) => {
      begun.push(chunk.index);
      return chunk.index === 1 ? throws(chunk) : joining.compute(chunk);
    };
    const { world, failure, left, pausesMs } = await planned(compute, { packSize: 3 });
    begun.length = 0;
    await world.work({ ...computeOf(await world.plan(), 0) });
    expect(pausesMs).toEqual([0, 1_000, 3_000, 9_000]);
    expect(begun).toEqual([0, 1, 1, 1, 1, 1]);
    const name = "failed/00000/00000000.001.001";
    expect([left(), await world.messages("urgent")]).toEqual([[name], []]);
    const told = { code: "calculation-threw", attempts: 5, attemptsMax: 5, named: true };
    // Of the three chunks of its pack it names the one.
    expect(await failure(name)).toMatchObject({ ...told, chunks: { from: 1, to: 2 } });
  });

  test("because its code is wrong is made once more, at once", async () => {
    const { world, message, failure, pausesMs } = await planned(() => {
      throw new TypeError("x is not a function");
    });
    await world.work(message);
    expect(pausesMs).toEqual([0]);
    expect(await failure()).toMatchObject({ attempts: 2, attemptsMax: 2 });
  });

  test("because of no connection has all its attempts, though fetch throws a TypeError", async () => {
    const { world, message, failure } = await planned(() => {
      throw new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") });
    });
    await world.work(message);
    expect(await failure()).toMatchObject({ attempts: limits.attemptsDefault });
  });

  test("and waits for long is followed by a copy in the urgent queue, and noted so that people see it", async () => {
    const { world, message, left, failure } = await planned(throws, { retryAfterS: [0, 20] });
    await world.work(message, { queue: world.names.packs, urgent: false });
    expect(await world.messages("urgent")).toEqual([]);
    expect(left()).toEqual([`${record}.tried`]);
    const note = { cause: "error", code: "calculation-threw", attempts: 2, laterS: 20 };
    const attemptsMax = limits.attemptsDefault;
    expect(await failure(`${record}.tried`)).toMatchObject({
      ...note,
      attemptsMax,
      chunks: { from: 1, to: 2 },
    });
    await world.world.advance(20_000);
    expect(await world.messages("urgent")).toEqual([{ ...message, tries: 2 }]);
    await world.host();
    expect(await failure(`${record}.tried`)).toMatchObject({ ...note, attempts: 3 });
  });

  test.each<[number[], readonly number[], readonly (readonly [number, number])[]]>([
    [[5], [5, 5, 5, 5], []],
    [
      [60],
      [],
      [
        [1, 60],
        [2, 60],
        [3, 60],
        [4, 60],
      ],
    ],
    [[30, 0], [0, 0, 0], [[1, 30]]],
    [[2, 20, 3], [2, 3, 3], [[2, 20]]],
  ])(
    "with retryAfterS %j waits %j s in its thread, and as a message as long after attempts %j",
    async (retryAfterS, inThreadS, asMessage) => {
      const { world, message, failure, pausesMs } = await planned(throws, { retryAfterS });
      await world.work(message);
      for (const [tries, laterS] of asMessage) {
        expect((await failure(`${record}.tried`)).laterS).toBe(laterS);
        await world.world.advance(laterS * 1_000 - 1_000);
        expect(await world.host()).toBe(0);
        await world.world.advance(1_000);
        expect(await world.messages("urgent")).toEqual([{ ...message, tries }]);
        await world.host();
      }
      expect(pausesMs).toEqual(inThreadS.map((seconds) => 1_000 * seconds));
      expect(await failure()).toMatchObject({ attempts: limits.attemptsDefault });
    },
  );

  test.each([
    [undefined, limits.attemptsDefault],
    [1, 1],
    [3, 3],
  ])("ends its send with a record after the attempts of its run (attempts %j)", async (attempts, made) => {
    let begun = 0;
    const compute = () => {
      begun += 1;
      throw new Error("no luck");
    };
    const { world, message, failure, left } = await planned(compute, {
      ...(attempts === undefined ? {} : { attempts }),
      retryAfterS: [0],
    });
    const before = begun;
    await world.work(message);
    while ((await world.host()) > 0);
    expect(begun - before).toBe(made);
    expect(left()).toContain(record);
    expect(await failure()).toMatchObject({ cause: "error", attempts: made, attemptsMax: made });
    expect((await failure()).final).toBeUndefined();
  });

  test("leaves its output once a later attempt succeeds", async () => {
    let begun = 0;
    const compute: AnyCalculation["compute"] = (chunk) => {
      if (chunk.index === 1 && begun++ < 3) throw new Error("no luck");
      return joining.compute(chunk);
    };
    const { world, message, left } = await planned(compute, { retryAfterS: [0] });
    begun = 0;
    await world.work(message);
    while ((await world.host()) > 0);
    expect(left()).toEqual(["parts/00000/00000001"]);
  });

  test("is counted in the partial of the attempt that succeeds", async () => {
    const { world, message } = await planned();
    await world.work({ ...message, tries: 2 });
    const found = await world.storage.blobs.head(world.names.runs, "r/u/parts/00000/00000001");
    expect(found).toMatchObject({ properties: { contentType: expect.stringContaining("attempt=3") } });
  });
});

describe("an attempt that fails as every other attempt would", () => {
  test.each(["partial-too-large", "not-json", "file-missing", "missing-column"])(
    "(%s) ends its send at once with a record that says so",
    async (code) => {
      const { world, message, left, failure, failing } = await planned();
      failing(new CalculationError(code, "no"));
      await world.work(message);
      expect(left()).toEqual([record]);
      expect(await failure()).toMatchObject({ cause: "error", code, attempts: 1, final: true });
      expect(await world.messages("urgent")).toEqual([]);
    },
  );

  test("at its time limit ends its send at once, and the leader decides about another send", async () => {
    const { world, message, left, failure, failing } = await planned();
    failing(new CalculationError("time-limit", "too long"));
    await world.work(message);
    expect(left()).toEqual([record]);
    expect(await failure()).toMatchObject({ code: "time-limit", attempts: 1 });
    expect((await failure()).final).toBeUndefined();
  });

  test.each(["out-of-memory", "thread-exited", "thread-crashed", "unknown-calculation", "file-denied"])(
    "is not meant by %s: another worker tries it at once",
    async (code) => {
      const { world, message, failing } = await planned();
      failing(new CalculationError(code, "no"));
      await world.work(message);
      expect(await world.messages("urgent")).toEqual([{ ...message, tries: 1 }]);
    },
  );
});

describe("an attempt whose failure is not that of its work", () => {
  const busy = new StorageError("busy", "ServerBusy", 503, "busy");
  const stopping = new LeasefoldError("stopping", "this instance is stopping", { retry: "later" });

  test.each([
    ["busy storage", busy, limits.retryDelayS],
    ["an instance that stops", stopping, 0],
  ])(
    "because of %s is put back as it is into its queue, hidden for its time",
    async (_what, error, hiddenS) => {
      const { world, message, left, failing } = await planned();
      failing(error);
      const tried: WorkMessage = { ...message, tries: 4 };
      await world.work(tried, { queue: world.names.packs, urgent: false });
      expect(left()).toEqual([]);
      expect(await world.messages("urgent")).toEqual([]);
      if (hiddenS > 0) {
        await world.world.advance(hiddenS * 1_000 - 100);
        expect(await world.messages("packs")).toEqual([]);
        await world.world.advance(200);
      }
      expect(await world.messages("packs")).toEqual([tried]);
    },
  );

  test("because it is for other code comes back at times that differ, within half a minute", async () => {
    const { world, message, failing } = await planned();
    failing(new OtherCodeError("ranges@1", "ranges@2"));
    const visible = async () => (await world.messages("packs")).length;
    for (let count = 0; count < 12; count += 1)
      await world.work(message, { queue: world.names.packs, urgent: false });
    await world.world.advance((limits.retryDelayS / 2) * 1_000 - 100);
    expect(await visible()).toBe(0);
    await world.world.advance((limits.retryDelayS / 4) * 1_000);
    const some = await visible();
    expect(some).toBeGreaterThan(1);
    expect(some).toBeLessThan(12);
    await world.world.advance((limits.retryDelayS / 4) * 1_000 + 200);
    expect(await visible()).toBe(12);
  });

  test("for any other reason is tried again after half a minute, since it may pass", async () => {
    const { world, message, failing } = await planned();
    failing(new Error("a bug of ours"));
    await world.work(message);
    expect(await world.messages("urgent")).toEqual([]);
    await world.world.advance(limits.retryDelayS * 1_000 + 1);
    expect(await world.messages("urgent")).toEqual([{ ...message, tries: 1 }]);
  });

  test("because it is not wanted any more leaves no blob", async () => {
    const { world, message, left } = await planned();
    await world.mark({ want: "cancelled" });
    await world.world.advance(6_000);
    await world.work(message);
    expect([left(), await world.messages("urgent")]).toEqual([[], []]);
  });
});

describe("the calls that end an attempt", () => {
  async function refusing(forMs: number) {
    const made = await planned(throws, { retryAfterS: [60] });
    const { world } = made;
    const { send } = world.storage.queues;
    const untilMs = world.world.nowMs() + forMs;
    let refused = 0;
    Object.assign(world.storage.queues, {
      send: (...message: Parameters<typeof send>) => {
        if (world.world.nowMs() >= untilMs) return send(...message);
        refused += 1;
        return Promise.reject(new StorageError("busy", "ServerBusy", 503, "busy"));
      },
    });
    return { ...made, refused: () => refused };
  }

  test("are repeated after growing pauses while storage is away for less than a minute", async () => {
    const { world, message, refused } = await refusing(45_000);
    await world.world.finish(world.work(message));
    expect(refused()).toBe(8);
    expect(world.world.nowMs()).toBeLessThan(56_000);
    await world.world.advance(60_000);
    expect(await world.messages("urgent")).toEqual([{ ...message, tries: 1 }]);
  });

  test("fail after a minute, and the host delivers the message again", async () => {
    const { world, message } = await refusing(600_000);
    await expect(world.world.finish(world.work(message))).rejects.toBeInstanceOf(StorageError);
    expect(world.world.nowMs()).toBeLessThanOrEqual(60_000);
  });
});
