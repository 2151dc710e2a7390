import fc from "fast-check";
import { expect, test } from "vitest";
import type { PackSend } from "../../src/engine/leader/decide/draft.ts";
import { packMessages } from "../../src/engine/leader/decide/messages.ts";
import { limits } from "../../src/engine/model/limits.ts";
import { onePackEach } from "../../src/engine/model/message.ts";
import { chunksOfPack, shardOf } from "../../src/engine/model/packs.ts";
import type { State } from "../../src/engine/model/state.ts";
import { computing } from "../support/runFixtures.ts";

const layout = { chunks: 9_999, packSize: 10, shardSize: 50, fanIn: 1_000, packMs: 250 };
const packs = 1_000;

/** A run whose packs took so many ms each, with so many left. */
const running = (ms: number, left = packs, outcomes = 20): State => ({
  ...computing(1),
  ...{ layout, durationsMs: Array(outcomes).fill(ms), packsDone: packs - left },
});
const send = (pack: number, more: Partial<PackSend> = {}): PackSend => ({
  ...{ pack, send: 1, urgent: false, repeat: false },
  ...more,
});
const row = (from: number, to: number): PackSend[] =>
  Array.from({ length: to - from }, (_, index) => send(from + index));
const sizes = (state: State, sends: readonly PackSend[]): number[] =>
  packMessages(state, sends).map((one) => one.packs.length);

test.each([
  ["1 ms", running(1), [16, 16, 8]],
  ["40 ms: a quarter of a second", running(40), [6, 6, 6, 6, 6, 6, 4]],
  ["126 ms", running(126), Array(40).fill(1)],
  ["1 ms, with 33 left: eight messages", running(1, 33), Array(10).fill(4)],
  ["1 ms, with 12 left", running(1, 12), Array(40).fill(1)],
  ["an unknown time: too few have ended", running(1, packs, limits.outcomesForRate - 1), Array(40).fill(1)],
])("packs of %s share messages accordingly", (_what, state, expected) => {
  expect(sizes(state, row(0, 40))).toEqual(expected);
});

test("a message ends with its shard, and where the row has a gap", () => {
  expect(sizes(running(1), row(40, 60))).toEqual([10, 10]);
  expect(sizes(running(1), [...row(0, 5), ...row(6, 9)])).toEqual([5, 3]);
});

test.each([{ urgent: true }, { urgent: true, repeat: true }, { repeat: true, alone: true }])(
  "a send with %j is alone",
  (more) => {
    expect(sizes(running(1), [send(0), send(1, more), send(2, more), send(3), send(4)])).toEqual([
      1, 1, 1, 2,
    ]);
    const [, one] = packMessages(running(1), [send(0), send(1, more)]);
    expect(one?.message).toMatchObject({ pack: 1, ...("repeat" in more ? { repeat: true } : {}) });
    expect(one?.message).toHaveProperty("until", undefined);
  },
);

test("packs that an earlier leader may have sent share messages among themselves", () => {
  const sends = [send(0), send(1), send(2, { repeat: true }), send(3, { repeat: true }), send(4)];
  const messages = packMessages(running(1), sends);
  expect(messages.map((one) => [one.packs.length, one.message.repeat])).toEqual([
    [2, undefined],
    [2, true],
    [1, undefined],
  ]);
});

test("whatever is sent, the messages ask for each pack once, in order, with its own chunks", () => {
  const sends = fc
    .uniqueArray(fc.nat(packs - 1), { maxLength: 200 })
    .map((all) => all.sort((a, b) => a - b).map((pack) => send(pack, { urgent: pack % 7 === 0 })));
  fc.assert(
    fc.property(sends, fc.integer({ min: 1, max: 300 }), (all, ms) => {
      const messages = packMessages(running(ms), all);
      expect(messages.flatMap((one) => one.packs)).toEqual(all);
      const asked = messages.flatMap(({ message }) => onePackEach(message));
      expect(asked.map((one) => one.kind === "compute" && [one.shard, one.pack, one.from, one.to])).toEqual(
        all.map(({ pack }) => {
          const { from, to } = chunksOfPack(layout, pack);
          return [shardOf(layout, pack), pack, from, to];
        }),
      );
    }),
  );
});
