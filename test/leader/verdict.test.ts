import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Verdict, verdictOf } from "../../src/engine/leader/inFlight/judge.ts";
import { limits } from "../../src/engine/model/limits.ts";

type Ended = Parameters<typeof verdictOf>[0][number];
const kinds = {
  threw: { cause: "error", code: "calculation-threw" },
  overtime: { cause: "error", code: "time-limit" },
  died: { cause: "unreported", code: "process-ended" },
  poison: { cause: "unreported", code: "poison" },
  innocent: { cause: "unreported", code: "lost" },
  final: { cause: "error", code: "not-json", final: true },
  lost: { cause: "storage-lost", code: "storage-lost" },
} as const;
type Kind = keyof typeof kinds;
const ended = (send: number, kind: Kind): Ended => ({
  ...{ send, message: `${kind} ${send}`, final: false },
  ...kinds[kind],
});
const row = (...sends: readonly Kind[]): Ended[] => sends.map((kind, at) => ended(at + 1, kind));

const once: Verdict = { kind: "replace", isolated: false };
const isolated: Verdict = { kind: "replace", isolated: true };
const wait: Verdict = { kind: "wait" };
const fail = (why: string): Verdict => ({ kind: "fail", why });

/** How the sends from 1 on have ended, how many were made, and which are waited for. */
const table: readonly (readonly [string, readonly Ended[], number, number, Verdict])[] = [
  ["an attempt that threw", row("threw"), 1, 1, fail("threw 1")],
  ["an attempt that threw beside one at work", row("threw"), 2, 1, wait],
  ["one that threw and a double that was cut off", row("threw", "overtime"), 2, 1, fail("threw 1")],
  ["one time limit", row("overtime"), 1, 1, once],
  ["two time limits", row("overtime", "overtime"), 2, 1, fail("overtime 2")],
  ["one process", row("died"), 1, 1, isolated],
  ["two processes", row("died", "died"), 2, 1, isolated],
  ["three processes", row("died", "died", "died"), 3, 1, fail("ended its process 3 times, isolated")],
  ["two poisoned messages", row("poison", "poison"), 2, 1, once],
  ["three poisoned messages", row("poison", "poison", "poison"), 3, 1, fail("poison 3")],
  ["two deaths and a poison", row("died", "died", "poison"), 3, 1, isolated],
  ["any number of deaths beside other work", row(...Array(9).fill("innocent")), 9, 1, isolated],
  ["a final error beside one at work", row("final"), 2, 1, fail("final 1")],
  ["a lost member beside one at work", row("lost"), 2, 1, fail("lost 1")],
  ["a record of a send that no state knows", [ended(2, "overtime")], 1, 1, wait],
  ["an older send that is not waited for", [ended(2, "overtime")], 2, 2, once],
  ["the late record of an older send", row("overtime", "overtime"), 2, 2, fail("overtime 2")],
  ["a late record while the new send is at work", row("overtime"), 2, 2, wait],
];

const pack = { from: 16, to: 32 };
/** Records of sends that ended at these chunks. */
const endedAt = (kind: Kind, ...at: readonly number[]): Ended[] =>
  at.map((chunk, index) => ({ ...ended(index + 1, kind), chunk }));
const after = (before: readonly Ended[], more: readonly Ended[]): Ended[] => [
  ...before,
  ...more.map((one) => ({ ...one, send: one.send + before.length })),
];
const without = (...chunks: readonly number[]): Verdict => ({
  ...{ kind: "replace", isolated: false },
  excluded: chunks.map((chunk) => ({ chunk, code: expect.any(String), message: expect.any(String) })),
});
const many = Array.from({ length: limits.excludedMax }, (_, at) => 16 + at);

/** How the sends of a pack have ended, and how many chunks may fail. */
const packTable: readonly (readonly [string, readonly Ended[], number, Verdict])[] = [
  ["a time limit at a chunk", endedAt("overtime", 21), 1, once],
  ["two time limits at one chunk", endedAt("overtime", 21, 21), 1, without(21)],
  ["two time limits at two chunks", endedAt("overtime", 20, 21), 1, without(21)],
  ["two time limits of which the second names none", after(endedAt("overtime", 21), row("overtime")), 1, without(21)], // biome-ignore format: one line
  ["two time limits at no chunk", row("overtime", "overtime"), 1, fail("overtime 2")],
  ["a third time limit elsewhere", endedAt("overtime", 21, 21, 25), 9, without(21)],
  ["two time limits at each of two chunks", endedAt("overtime", 21, 21, 25, 25), 9, without(21, 25)],
  ["two time limits at each of two chunks, of which one may fail", endedAt("overtime", 21, 21, 25, 25), 1, fail("overtime 4")], // biome-ignore format: one line
  ["a thread that ended at a chunk", endedAt("threw", 21), 1, without(21)],
  ["threads that ended at two chunks", endedAt("threw", 17, 21), 2, without(17, 21)],
  ["one that ended at an excluded chunk again, since its send did not know", endedAt("threw", 21, 21), 1, without(21)], // biome-ignore format: one line
  ["a chunk that threw", row("threw"), 1, fail("threw 1")],
  ["a chunk that nothing tolerates", endedAt("threw", 21), 0, fail("threw 1")],
  ["a chunk of another pack", endedAt("threw", 40), 1, fail("threw 1")],
  ["as many chunks as are excluded", endedAt("threw", ...many), 99, without(...many)],
  ["one chunk more", endedAt("threw", ...many, 31), 99, fail("threw 9")],
  ["three deaths", row("died", "died", "died"), 16, fail("ended its process 3 times, isolated")],
];

describe("what the records of ended sends mean", () => {
  test.each(packTable)(
    "of a pack that may lack chunks %s has the verdict of the table",
    (_what, records, tolerated, verdict) => {
      const made = { send: records.length, awaitedFrom: 1 };
      expect(verdictOf(records, made, { chunks: pack, tolerated })).toEqual(verdict);
    },
  );

  test("a pack of which all chunks end their threads fails", () => {
    const two = { from: 16, to: 18 };
    expect(
      verdictOf(endedAt("threw", 16, 17), { send: 2, awaitedFrom: 1 }, { chunks: two, tolerated: 9 }),
    ).toEqual(fail("threw 2"));
  });

  test("however the sends of a pack end, so many more are made for each chunk that is excluded", () => {
    const most = limits.overtimeSendsMax + limits.diedSendsMax + limits.poisonedSendsMax - 2;
    fc.assert(
      fc.property(
        fc.infiniteStream(fc.constantFrom<Kind>("overtime", "died", "poison", "threw")),
        fc.infiniteStream(fc.integer({ min: 16, max: 31 })),
        (ends, at) => {
          const records: Ended[] = [];
          let excluded: readonly number[] = [];
          for (;;) {
            const kind = ends.next().value;
            const chunk = at.next().value;
            // A thread names its chunk, a dead process none; what is excluded is not computed.
            if (excluded.includes(chunk)) continue;
            const named = kind === "overtime" || kind === "threw";
            records.push({ ...ended(records.length + 1, kind), ...(named && { chunk }) });
            const made = { send: records.length, awaitedFrom: records.length };
            const verdict = verdictOf(records, made, { chunks: pack, tolerated: 99 });
            if (verdict.kind !== "replace") break;
            excluded = (verdict.excluded ?? []).map((one) => one.chunk);
          }
          expect(records.length).toBeLessThanOrEqual(most * (limits.excludedMax + 1));
        },
      ),
    );
  });

  test.each(table)("%s has the verdict of the table", (_what, records, send, awaitedFrom, verdict) => {
    expect(verdictOf(records, { send, awaitedFrom })).toEqual(verdict);
  });

  const anyKind = fc.constantFrom(...(Object.keys(kinds) as Kind[]));
  const replaceable = fc.constantFrom<Kind>("overtime", "died", "poison");

  test("however the sends of work end, only so many are made until it has failed", () => {
    // One less than each maximum may be replaced, and the next one fails it.
    const most = limits.overtimeSendsMax + limits.diedSendsMax + limits.poisonedSendsMax - 2;
    fc.assert(
      fc.property(fc.infiniteStream(replaceable), fc.infiniteStream(fc.boolean()), (ends, silences) => {
        const records: Ended[] = [];
        let [send, awaitedFrom, died] = [1, 1, 0];
        for (;;) {
          const kind = ends.next().value;
          if (kind === "died") died += 1;
          // Sends that nothing was heard of for long are not waited for any more; their records come all the same.
          if (silences.next().value) awaitedFrom = send;
          records.push(ended(send, kind));
          const verdict = verdictOf(records, { send, awaitedFrom });
          if (verdict.kind === "fail") break;
          expect(verdict).toEqual({ kind: "replace", isolated: died > 0 });
          send += 1;
        }
        expect(send).toBeLessThanOrEqual(most);
        expect(died).toBeLessThanOrEqual(limits.diedSendsMax);
      }),
    );
  });

  test("work has not failed while a send that is waited for is at work, unless no other could succeed", () => {
    fc.assert(
      fc.property(
        fc.array(anyKind, { minLength: 1, maxLength: 6 }),
        fc.nat(),
        fc.nat(),
        (ends, which, from) => {
          const all = row(...ends);
          const awaitedFrom = 1 + (from % all.length);
          const open = awaitedFrom + (which % (all.length - awaitedFrom + 1));
          const records = all.filter(({ send }) => send !== open);
          const { kind } = verdictOf(records, { send: all.length, awaitedFrom });
          const hopeless = records.some((one) => one.final || one.cause === "storage-lost");
          expect(kind).toBe(hopeless ? "fail" : "wait");
        },
      ),
    );
  });

  test("once every send has ended the verdict is the same whichever of them were waited for", () => {
    fc.assert(
      fc.property(fc.array(anyKind, { minLength: 1, maxLength: 6 }), fc.nat(), (ends, from) => {
        const all = row(...ends);
        const send = all.length;
        expect(verdictOf(all, { send, awaitedFrom: 1 + (from % send) })).toEqual(
          verdictOf(all, { send, awaitedFrom: 1 }),
        );
      }),
    );
  });
});
