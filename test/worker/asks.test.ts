import { describe, expect, test } from "vitest";
import { failRun, retryLater } from "../../src/engine/calculation/asks.ts";
import type { AnyCalculation } from "../../src/engine/calculation/contract.ts";
import { backOff } from "../../src/engine/model/backOff.ts";
import { decodeJson } from "../../src/engine/model/decode.ts";
import { failureSchema, type Spec } from "../../src/engine/model/run.ts";
import { common, computeOf, inlineCode, joining, workerWorld } from "./workerWorld.ts";

const record = "failed/00000/00000001.001.001";

/** Three packs of one chunk, of which the second one does this, and its message. */
async function planned(compute: () => never, more: Partial<Spec> = {}) {
  let asks = false;
  const world = await workerWorld(
    inlineCode({
      ...joining,
      compute: (chunk) => (asks && chunk.index === 1 ? compute() : joining.compute(chunk)),
    }),
  );
  await world.submit({ calculation: "joining", params: { chunks: 3 }, packSize: 1, ...more });
  await world.work({ ...common, kind: "plan" });
  asks = true;
  const message = computeOf(await world.plan(), 1);
  const failure = async (name = record) =>
    decodeJson(failureSchema, await world.bytesOf(world.names.runs, `r/u/${name}`), name);
  return { world, message, failure };
}

const later = (seconds: number) => () => retryLater("no file yet", seconds);

describe("a chunk that asks to be tried later", () => {
  test("is tried after so many seconds, and that is none of its attempts", async () => {
    const { world, message, failure } = await planned(later(90), { attempts: 1 });
    await world.work(message);
    const code = "retry-later";
    const note = { code, message: "chunk 1: no file yet", attempts: 1, laterS: 90 };
    expect(await failure(`${record}.tried`)).toMatchObject(note);
    await world.world.advance(89_000);
    expect(await world.messages("urgent")).toEqual([]);
    await world.world.advance(1_000);
    expect(await world.messages("urgent")).toEqual([{ ...message, asks: { times: 1, waitedS: 90 } }]);
    await world.host();
    await world.world.advance(90_000);
    expect(await world.messages("urgent")).toEqual([{ ...message, asks: { times: 2, waitedS: 180 } }]);
  });

  test.each([
    ["for a day in all", { times: 1, waitedS: backOff.waitMaxS }],
    ["so often", { times: backOff.asksMax, waitedS: 1 }],
  ])("fails as any other chunk once it has asked %s", async (_what, asks) => {
    const { world, message, failure } = await planned(later(90), { attempts: 1 });
    await world.work({ ...message, asks });
    expect(await failure()).toMatchObject({
      cause: "error",
      code: "retry-later",
      message: "chunk 1: no file yet",
    });
    expect(await world.messages("urgent")).toEqual([]);
  });

  test("waits no longer than what is left of that day", async () => {
    const { world, message, failure } = await planned(later(3_600));
    await world.work({ ...message, asks: { times: 1, waitedS: backOff.waitMaxS - 5 } });
    expect((await failure(`${record}.tried`)).laterS).toBe(5);
  });

  test("is asked about by verify at once, as a client waits for the answer", async () => {
    const { world, message } = await planned(later(90), { attempts: 1 });
    const { gen, run, uid } = message;
    await world.work({ ...common, run, uid, gen, kind: "verify", tag: "t", pack: 1 });
    expect(await world.messages("urgent")).toEqual([]);
  });
});

describe("a chunk that fails its run", () => {
  test.each<[Partial<Spec>]>([[{}], [{ tolerate: { percent: 100 } }]])(
    "ends its send at once with a record whose reason comes first (%j)",
    async (more) => {
      const { world, message, failure } = await planned(() => failRun("wrong year"), more);
      await world.work(message);
      expect(await failure()).toMatchObject({
        code: "fail-run",
        message: "wrong year (chunk 1)",
        final: true,
      });
      expect((await failure()).gaps).toBeUndefined();
      expect(await world.messages("urgent")).toEqual([]);
    },
  );
});

test.each([0, 0.5, -1, Number.NaN, Number.POSITIVE_INFINITY, backOff.waitMaxS + 1])(
  "retryLater with %d seconds is an error of its caller",
  (seconds) => {
    const call = (): AnyCalculation => retryLater("x", seconds);
    expect(call).toThrow(new TypeError(`retryLater: seconds is ${seconds}; give a number from 1 to 86400`));
  },
);
