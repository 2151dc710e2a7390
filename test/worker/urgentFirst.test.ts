import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { urgentFirst } from "../../src/engine/worker/threads/urgentFirst.ts";

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("the slots of a pool", () => {
  test("are taken at once while some are free, and then by urgent callers first", async () => {
    const slots = urgentFirst(1);
    const order: string[] = [];
    await slots.take(false);
    for (const name of ["a", "b"]) void slots.take(false).then(() => order.push(name));
    for (const name of ["urgent a", "urgent b"]) void slots.take(true).then(() => order.push(name));
    await settled();
    expect(order).toEqual([]);
    for (let i = 0; i < 4; i++) slots.leave();
    await settled();
    expect(order).toEqual(["urgent a", "urgent b", "a", "b"]);
  });

  test("a slot that is left is free for the next caller", async () => {
    const slots = urgentFirst(2);
    for (let i = 0; i < 10; i++) {
      await slots.take(i % 2 === 0);
      slots.leave();
    }
    await Promise.all([slots.take(false), slots.take(false)]);
  });

  test("a close rejects waiting and later callers", async () => {
    const slots = urgentFirst(1);
    await slots.take(false);
    const waiting = slots.take(true);
    slots.close(new Error("stopping"));
    await expect(waiting).rejects.toThrow("stopping");
    await expect(slots.take(false)).rejects.toThrow("stopping");
  });
});

describe("a caller that waits for several slots", () => {
  /** Takes slots under names, and tells who was admitted in which order. */
  function pool(count: number) {
    const slots = urgentFirst(count);
    const order: string[] = [];
    const take = (name: string, urgent: boolean, needs = 1) =>
      void slots.take(urgent, needs).then(() => order.push(name));
    return { slots, order, take };
  }

  test("gets them once all are free, and nobody overtakes it", async () => {
    const { slots, order, take } = pool(3);
    for (const name of ["a", "b"]) take(name, false);
    take("isolated", true, 3);
    take("urgent", true);
    take("other", false);
    await settled();
    // One place is free, and it stays so.
    expect(order).toEqual(["a", "b"]);
    slots.leave();
    await settled();
    expect(order).toEqual(["a", "b"]);
    slots.leave();
    await settled();
    expect(order).toEqual(["a", "b", "isolated"]);
    slots.leave(3);
    await settled();
    expect(order).toEqual(["a", "b", "isolated", "urgent", "other"]);
  });

  test("comes after the urgent callers before it, and two of them after each other", async () => {
    const { slots, order, take } = pool(2);
    for (const name of ["a", "b", "c"]) take(name, true);
    for (const name of ["isolated 1", "isolated 2"]) take(name, true, 2);
    await settled();
    expect(order).toEqual(["a", "b"]);
    for (let left = 0; left < 3; left += 1) slots.leave();
    await settled();
    expect(order).toEqual(["a", "b", "c", "isolated 1"]);
    slots.leave(2);
    await settled();
    expect(order.at(-1)).toBe("isolated 2");
  });

  test("never has a slot that another caller has, in any order of arrivals", async () => {
    const caller = fc.record({ urgent: fc.boolean(), share: fc.integer({ min: 1, max: 4 }) });
    const property = fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.oneof(caller, fc.constant("leave" as const)), { maxLength: 40 }),
      async (count, steps) => {
        const slots = urgentFirst(count);
        const inside: number[] = [];
        let waiting = 0;
        const leave = () => {
          const needs = inside.shift();
          if (needs !== undefined) slots.leave(needs);
          return needs !== undefined;
        };
        const check = async () => {
          await settled();
          expect(inside.reduce((sum, needs) => sum + needs, 0)).toBeLessThanOrEqual(count);
        };
        for (const step of steps) {
          if (step === "leave") leave();
          else {
            const needs = Math.min(step.share, count);
            waiting += 1;
            void slots.take(step.urgent, needs).then(() => {
              waiting -= 1;
              inside.push(needs);
            });
          }
          await check();
        }
        while (leave()) await check();
        // Everybody was served.
        expect(waiting).toBe(0);
      },
    );
    await fc.assert(property, { numRuns: 50 });
  });

  test("is rejected when the pool closes", async () => {
    const { slots } = pool(2);
    await slots.take(false);
    const waiting = slots.take(true, 2);
    slots.close(new Error("stopping"));
    await expect(waiting).rejects.toThrow("stopping");
  });
});
