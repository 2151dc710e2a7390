import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Verdict, verdictOf } from "../../src/engine/leader/decide/failures.ts";
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

describe("what the records of ended sends mean", () => {
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
