import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { diedInAllMax, type Verdict, verdictOf } from "../../src/engine/leader/decide/verdict.ts";
import { limits } from "../../src/engine/model/limits.ts";

type Ended = Parameters<typeof verdictOf>[0][number];
const kinds = {
  threw: { cause: "error", code: "calculation-threw" },
  overtime: { cause: "error", code: "time-limit" },
  died: { cause: "poison", code: "process-ended" },
  poison: { cause: "poison", code: "poison" },
  innocent: { cause: "poison", code: "lost" },
  final: { cause: "error", code: "not-json", final: true },
  lost: { cause: "storage-lost", code: "storage-lost" },
} as const;
type Kind = keyof typeof kinds;
const ended = (send: number, kind: Kind): Ended => ({
  ...{ send, message: `${kind} ${send}`, final: false },
  ...kinds[kind],
});
const row = (...sends: readonly Kind[]): Ended[] => sends.map((kind, at) => ended(at + 1, kind));

const once: Verdict = { kind: "replace", alone: false };
const alone: Verdict = { kind: "replace", alone: true };
const wait: Verdict = { kind: "wait" };
const fail = (why: string): Verdict => ({ kind: "fail", why });

/** How the sends from 1 on have ended, how many were made, and which are waited for. */
const table: readonly (readonly [string, readonly Ended[], number, number, Verdict])[] = [
  ["an attempt that threw", row("threw"), 1, 1, fail("threw 1")],
  ["an attempt that threw beside one at work", row("threw"), 2, 1, wait],
  ["one that threw and a double that was cut off", row("threw", "overtime"), 2, 1, fail("threw 1")],
  ["one time limit", row("overtime"), 1, 1, once],
  ["two time limits", row("overtime", "overtime"), 2, 1, fail("overtime 2")],
  ["one process", row("died"), 1, 1, alone],
  ["two processes", row("died", "died"), 2, 1, alone],
  ["three processes", row("died", "died", "died"), 3, 1, fail("ended its process 3 times, alone")],
  ["two poisoned messages", row("poison", "poison"), 2, 1, once],
  ["three poisoned messages", row("poison", "poison", "poison"), 3, 1, fail("poison 3")],
  ["two deaths and a poison", row("died", "died", "poison"), 3, 1, alone],
  ["any number of deaths beside other work", row(...Array(9).fill("innocent")), 9, 1, once],
  ["a final error beside one at work", row("final"), 2, 1, fail("final 1")],
  ["a lost member beside one at work", row("lost"), 2, 1, fail("lost 1")],
  ["a record of a send that no state knows", [ended(2, "overtime")], 1, 1, wait],
  ["an older send that is not waited for", [ended(2, "overtime")], 2, 2, once],
  ["the late record of an older send", row("overtime", "overtime"), 2, 2, fail("overtime 2")],
  ["a late record while the new send is at work", row("overtime"), 2, 2, wait],
];

const pack = { from: 16, to: 32 };
/** Records of sends that ended at a chunk, or while all chunks of a range were in doubt. */
const endedAt = (kind: Kind, ...at: readonly (number | { from: number; to: number })[]): Ended[] =>
  row(...at.map(() => kind)).map((one, index) => {
    const where = at[index] ?? 0;
    return { ...one, at: typeof where === "number" ? { from: where, to: where + 1 } : where };
  });
const without = (from: number, to: number, alone: boolean): Verdict => ({
  ...{ kind: "replace", alone },
  leaveOut: { from, to, code: expect.any(String), message: expect.any(String) },
});
const at = (chunk: number) => ({ from: chunk, to: chunk + 1 });
const half = { from: 16, to: 24 };
const stored = [{ ...ended(1, "overtime"), gaps: { failed: 1, plan: undefined } }];

/** How the sends of a pack have ended, which chunks later ones leave out already, and how many may fail. */
const packTable: readonly (readonly [string, readonly Ended[], readonly number[], number, Verdict])[] = [
  ["a time limit at a chunk", endedAt("overtime", 21), [], 1, once],
  ["two time limits at one chunk", endedAt("overtime", 21, 21), [], 1, without(21, 22, false)],
  ["two time limits at two chunks", endedAt("overtime", 20, 21), [], 1, without(21, 22, false)],
  [
    "two time limits of which the second names none",
    [...endedAt("overtime", 21), ended(2, "overtime")],
    [],
    1,
    without(21, 22, false),
  ],
  ["two time limits at no chunk", row("overtime", "overtime"), [], 1, fail("overtime 2")],
  ["a thread that ended at a chunk", endedAt("threw", 21), [], 1, without(21, 22, false)],
  ["a chunk that threw", row("threw"), [], 1, fail("threw 1")],
  ["a chunk that nothing tolerates", endedAt("threw", 21), [], 0, fail("threw 1")],
  ["a chunk of another pack", endedAt("threw", 40), [], 1, fail("threw 1")],
  ["chunks that end before they begin", endedAt("threw", { from: 21, to: 18 }), [], 16, fail("threw 1")],
  ["a death in half of the pack", endedAt("died", half), [], 1, { ...alone, doubt: half }],
  ["a death anywhere in the pack", endedAt("died", pack), [], 1, alone],
  [
    "three deaths that come to one chunk",
    endedAt("died", half, { from: 20, to: 22 }, 21),
    [],
    1,
    without(21, 22, true),
  ],
  [
    "three deaths of which the last tells nothing",
    endedAt("died", 21, 21, pack),
    [],
    1,
    without(21, 22, true),
  ],
  [
    "three deaths anywhere in the pack",
    endedAt("died", pack, pack, pack),
    [],
    16,
    fail("chunks 16–31: ended its process 3 times, alone"),
  ],
  [
    "three deaths in more chunks than may fail",
    endedAt("died", half, half, half),
    [],
    7,
    fail("chunks 16–23: ended its process 3 times, alone"),
  ],
  [
    "a foreign death between those of one chunk",
    endedAt("died", half, { from: 24, to: 32 }, { from: 20, to: 22 }, 21),
    [],
    1,
    without(21, 22, true),
  ],
  [
    "three deaths of which one is foreign",
    endedAt("died", half, { from: 24, to: 32 }, { from: 20, to: 22 }),
    [],
    9,
    { ...alone, doubt: { from: 20, to: 22 } },
  ],
  [
    "four deaths that have not come to one chunk, one of them foreign",
    endedAt("died", { from: 24, to: 32 }, half, { from: 20, to: 22 }, { from: 20, to: 22 }),
    [],
    9,
    { ...alone, doubt: { from: 20, to: 22 } },
  ],
  ["five deaths at five chunks", endedAt("died", 17, 18, 19, 20, 21), [], 9, { ...alone, doubt: at(21) }],
  [
    "six deaths at six chunks",
    endedAt("died", 17, 18, 19, 20, 21, 22),
    [],
    9,
    fail("ended its process 6 times, alone"),
  ],
  ["a thread that ended at a second chunk", endedAt("threw", 21), [17], 2, without(21, 22, false)],
  ["a second chunk that is not tolerated", endedAt("threw", 21), [17], 1, fail("threw 1")],
  ["a chunk that an instance does not leave out", endedAt("threw", 17), [17], 2, fail("threw 1")],
  [
    "the last chunk of a pack",
    endedAt("threw", 16),
    Array.from({ length: 15 }, (_, at) => 17 + at),
    99,
    fail("threw 1"),
  ],
  [
    "one chunk more than are left out",
    endedAt("threw", 31),
    Array.from({ length: limits.leftOutMax }, (_, at) => 16 + at),
    99,
    fail("threw 1"),
  ],
  ["a stored partial of the others", stored, [21], 2, fail("overtime 1")],
];

describe("what the records of ended sends mean", () => {
  test.each(packTable)(
    "of a pack that may lack chunks %s has the verdict of the table",
    (_what, records, left, tolerated, verdict) => {
      const leftOut = left.map((chunk) => ({ from: chunk, to: chunk + 1, code: "", message: "" }));
      const made = { sends: records.length, since: 1, leftOut };
      expect(verdictOf(records, made, { chunks: pack, tolerated })).toEqual(verdict);
    },
  );

  test("what ended before a chunk was left out does not count against the others", () => {
    const records = endedAt("overtime", 21, 21, 25);
    const leftOut = [{ from: 21, to: 22, code: "", message: "" }];
    const made = { sends: 3, since: 3, leftOut, leftOutFrom: 3 };
    expect(verdictOf(records, made, { chunks: pack, tolerated: 9 })).toEqual(once);
    expect(
      verdictOf(
        [...records, { ...(records[2] as Ended), send: 4 }],
        { ...made, sends: 4 },
        { chunks: pack, tolerated: 9 },
      ),
    ).toEqual(without(25, 26, false));
  });

  test("however the sends of a pack end, so many more are made for each chunk that is left out", () => {
    const most = limits.overtimeSendsMax + diedInAllMax + limits.poisonedSendsMax - 2;
    fc.assert(
      fc.property(
        fc.infiniteStream(fc.constantFrom<Kind>("overtime", "died", "poison", "threw")),
        fc.infiniteStream(fc.integer({ min: 16, max: 31 })),
        (ends, at) => {
          const records: Ended[] = [];
          let made: Parameters<typeof verdictOf>[1] = { sends: 1, since: 1 };
          for (;;) {
            const chunk = at.next().value;
            records.push({ ...ended(made.sends, ends.next().value), at: { from: chunk, to: chunk + 1 } });
            const verdict = verdictOf(records, made, { chunks: pack, tolerated: 99 });
            if (verdict.kind !== "replace") break;
            const { leaveOut } = verdict;
            const sends = made.sends + 1;
            made = { ...made, sends, since: sends };
            if (leaveOut === undefined) continue;
            made = { ...made, leftOut: [...(made.leftOut ?? []), leaveOut], leftOutFrom: sends };
          }
          expect(made.sends).toBeLessThanOrEqual(most * (limits.leftOutMax + 1));
        },
      ),
    );
  });

  test.each(table)("%s has the verdict of the table", (_what, records, sends, since, verdict) => {
    expect(verdictOf(records, { sends, since })).toEqual(verdict);
  });

  const anyKind = fc.constantFrom(...(Object.keys(kinds) as Kind[]));
  const replaceable = fc.constantFrom<Kind>("overtime", "died", "poison");

  test("however the sends of work end, only so many are made until it has failed", () => {
    // One less than each maximum may be replaced, and the next one fails it.
    const most = limits.overtimeSendsMax + limits.diedSendsMax + limits.poisonedSendsMax - 2;
    fc.assert(
      fc.property(fc.infiniteStream(replaceable), fc.infiniteStream(fc.boolean()), (ends, silences) => {
        const records: Ended[] = [];
        let [sends, since, died] = [1, 1, 0];
        for (;;) {
          const kind = ends.next().value;
          if (kind === "died") died += 1;
          // Sends that nothing was heard of for long are not waited for any more; their records come all the same.
          if (silences.next().value) since = sends;
          records.push(ended(sends, kind));
          const verdict = verdictOf(records, { sends, since });
          if (verdict.kind === "fail") break;
          expect(verdict).toEqual({ kind: "replace", alone: died > 0 });
          sends += 1;
        }
        expect(sends).toBeLessThanOrEqual(most);
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
          const since = 1 + (from % all.length);
          const open = since + (which % (all.length - since + 1));
          const records = all.filter(({ send }) => send !== open);
          const { kind } = verdictOf(records, { sends: all.length, since });
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
        const sends = all.length;
        expect(verdictOf(all, { sends, since: 1 + (from % sends) })).toEqual(
          verdictOf(all, { sends, since: 1 }),
        );
      }),
    );
  });
});
