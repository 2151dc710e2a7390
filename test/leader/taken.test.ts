import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type SeenQueue, turnKey } from "../../src/engine/leader/seen.ts";
import { limits } from "../../src/engine/model/limits.ts";
import type { Work } from "../../src/engine/model/runBlobs.ts";
import type { State } from "../../src/engine/model/state.ts";
import { computing, packFailure, runNotes } from "../support/runFixtures.ts";
import { heartbeatOf, observedAt, startMs, step, type Told, waitingFor } from "./deciding.ts";

/** Thirty packs, ten a second from the start on. */
const batches = [10, 20, 30].map((upTo, second) => ({ upTo, atMs: startMs + second * 1_000 }));
const sent = (): State => ({ ...step(computing(30)).state, batches });
const mine = { uid: "u", generation: 1, turn: 0, cursorSend: 1 };
const shows = (pack: number, change: Partial<typeof mine> = {}): Partial<SeenQueue> => ({
  firstPack: new Map([[turnKey({ ...mine, ...change }), pack]]),
});
const others = (oldestMs?: number): Partial<SeenQueue> => ({
  ...{ full: true, oldestMs: oldestMs === undefined ? undefined : startMs + oldestMs },
});
const observe = (state: State, afterMs: number, told: Told, notes = runNotes()): State =>
  step(state, {}, notes, afterMs, { observed: observedAt(afterMs, told) }).state;
const upTo = (state: State): number => state.taken.at(-1)?.upTo ?? 0;

describe("first sends that workers have taken", () => {
  test.each<[string, Told, number]>([
    ["are all where the queue is empty", {}, 30],
    ["are those before the first that the queue shows", { packs: shows(7) }, 7],
    ["are none where the queue shows the first", { packs: { ...shows(0), ...others(9_000) } }, 0],
    ["are all where the queue shows only an earlier turn", { packs: shows(7, { turn: 3 }) }, 30],
    ["are all where the queue shows only earlier sends", { packs: shows(7, { cursorSend: 2 }) }, 30],
    ["are all where it shows another generation", { packs: shows(7, { generation: 2 }) }, 30],
    ["are all where it shows another run", { packs: shows(7, { uid: "x" }) }, 30],
    ["are those of no batch where a full queue shows older messages of others", { packs: others(0) }, 0],
    [
      "are those before the batch that was decided last before its oldest message",
      { packs: others(1_001) },
      10,
    ],
    ["are not those of a batch of that very moment", { packs: others(1_000) }, 0],
    ["are all but the last batch where that may just have been sent", { packs: others(7_000) }, 20],
    ["are all where it shows only messages from 5 s after the last batch", { packs: others(7_001) }, 30],
    ["are none where all that a full queue shows was received before", { packs: others() }, 0],
    ["are bounded by a full urgent queue too", { urgent: others(1_001) }, 10],
    ["are bounded by whichever queue shows less", { packs: shows(17), urgent: others(1_001) }, 10],
  ])("%s", (_what, told, taken) => {
    expect(upTo(observe(sent(), 5_000, told))).toBe(taken);
  });

  test("keep the time at which that was first seen", () => {
    const state = observe(observe(sent(), 5_000, { packs: shows(7) }), 6_000, { packs: shows(12) });
    expect(state.taken).toEqual([
      { upTo: 7, atMs: startMs + 5_000 },
      { upTo: 12, atMs: startMs + 6_000 },
    ]);
    expect(observe(state, 7_000, { packs: shows(12) }).taken).toEqual(state.taken);
  });

  test("are taken back by a later peek that shows an earlier one, and then have their time anew", () => {
    const notes = runNotes();
    const empty = observe(sent(), 5_000, {}, notes);
    const shown = observe(empty, 6_000, { packs: shows(7) }, notes);
    expect(upTo(shown)).toBe(7);
    const again = step(shown, {}, notes, 9_001, { observed: observedAt(9_001) });
    expect(again.packs.map(({ pack }) => pack)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(again.state.taken.at(-1)).toEqual({ upTo: 30, atMs: startMs + 9_001 });
  });

  test("are not taken back by a peek that shows nothing of the run", () => {
    const all = observe(sent(), 5_000, {});
    expect(upTo(observe(all, 6_000, { packs: others(0) }))).toBe(30);
  });

  test("leave their queue drained, for the window, once there were any", () => {
    const notes = runNotes();
    const state = observe(sent(), 5_000, { packs: shows(29) }, notes);
    expect(notes.drained).toBe(false);
    observe(state, 6_000, {}, notes);
    expect(notes.drained).toBe(true);
    step(computing(30), {}, notes, 7_000, { observed: observedAt(7_000) });
    expect(notes.drained).toBe(false);
  });

  test("never include one that the same peek shows, in whatever order messages come", () => {
    const peek = fc.record({
      pack: fc.option(fc.nat(29), { nil: undefined }),
      full: fc.boolean(),
      oldestMs: fc.option(fc.nat(4_000), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(peek, { maxLength: 8 }), (peeks) => {
        // Whatever seems lost meanwhile is resent, which changes nothing here.
        let state = sent();
        for (const [at, { pack, full, oldestMs }] of peeks.entries()) {
          const shown = pack === undefined ? {} : shows(pack);
          const queue = { ...(full ? others(oldestMs) : {}), ...shown };
          state = observe(state, 5_000 + at * 500, { packs: queue });
          if (pack !== undefined) expect(upTo(state)).toBeLessThanOrEqual(pack);
          const marks = state.taken.map((mark) => [mark.upTo, mark.atMs]);
          expect(marks).toEqual([...marks].sort(([a = 0, b = 0], [c = 0, d = 0]) => a - c || b - d));
        }
      }),
    );
  });
});

describe("a pack whose sends end in any way", () => {
  const work: Work = { kind: "pack", shard: 0, pack: 0 };
  const fates = ["waits", "held", "computed", "lost", "died", "died held", "a late heartbeat"] as const;

  test("is resent at most once in a decision, only after its send was seen to be lost or its process to die, and at most 13 times before it has failed", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...fates), { minLength: 30, maxLength: 60 }), (all) => {
        const notes = runNotes();
        let { state } = step(computing(1), {}, notes);
        const failures: ReturnType<typeof packFailure>[] = [];
        let afterMs = 0;
        for (const fate of all) {
          // Longer than the longest time after which it counts as lost.
          afterMs += limits.lostMsMax * 2 ** limits.lostDoublings;
          const { send = 1, isolated = false } = state.resent[0] ?? {};
          const heartbeat = heartbeatOf(work, { send, isolated });
          const dead = { ...heartbeat, live: false, silentMs: limits.isolatedDeathMs + 1 };
          const told: Told = {
            waits: { packs: waitingFor(work) },
            held: { heartbeats: [{ ...heartbeat, begun: false }] },
            computed: { heartbeats: [heartbeat] },
            lost: {},
            died: { heartbeats: [dead] },
            "died held": { heartbeats: [{ ...dead, begun: false }] },
            "a late heartbeat": { heartbeats: [dead, { ...heartbeat, instance: "node-2" }] },
          }[fate];
          let sends = 0;
          for (const observed of [observedAt(afterMs, told), observedAt(afterMs + 1, told)]) {
            const draft = step(state, { failures }, notes, observed.nowMs - startMs, { observed });
            const records = draft.records.map(({ send: of, code, message, final = false }) =>
              packFailure(0, of, "unreported", { code, message, final }),
            );
            failures.push(...records);
            expect(draft.packs.length + records.length).toBeLessThanOrEqual(1);
            sends += draft.packs.length;
            state = draft.state;
            if (draft.ending !== undefined) {
              expect(state.packsFailed).toBe(1);
              return;
            }
          }
          expect(sends).toBeLessThanOrEqual(1);
          if (!["lost", "died", "died held"].includes(fate) && failures.length === 0) expect(sends).toBe(0);
          expect(state.resent[0]?.send ?? 1).toBeLessThanOrEqual(13);
        }
      }),
    );
  });

  test("in vain, each time, has failed after 13 sends", () => {
    let { state } = step(computing(1));
    const notes = runNotes();
    const failures: ReturnType<typeof packFailure>[] = [];
    let ended = "";
    for (let round = 0; round < 60 && ended === ""; round += 1) {
      const { send = 1, isolated, losses = 0 } = state.resent[0] ?? {};
      const dead = heartbeatOf(work, {
        send: send,
        isolated: isolated === true,
        live: false,
        silentMs: 20_000,
      });
      const heartbeat = { ...dead, begun: losses === limits.lostMax - 1 };
      const observed = observedAt(round * 1_000, { heartbeats: [heartbeat] });
      const draft = step(state, { failures }, notes, round * 1_000, { observed });
      for (const { send, code, message } of draft.records)
        failures.push(packFailure(0, send, "unreported", { code, message }));
      ended = draft.ending?.error?.message ?? "";
      state = draft.state;
    }
    expect(ended).toMatch(/ended its process 3 times, isolated$/);
    expect(Math.max(...failures.map(({ send }) => send))).toBe(13);
  });
});
