import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { urgentFirst } from "../../src/worker/threads/urgentFirst.ts";

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("the places of a pool", () => {
  test("are taken at once while some are free, and then by urgent callers first", async () => {
    const places = urgentFirst(1);
    const order: string[] = [];
    await places.take(false);
    for (const name of ["a", "b"]) void places.take(false).then(() => order.push(name));
    for (const name of ["urgent a", "urgent b"]) void places.take(true).then(() => order.push(name));
    await settled();
    expect(order).toEqual([]);
    for (let i = 0; i < 4; i++) places.leave();
    await settled();
    expect(order).toEqual(["urgent a", "urgent b", "a", "b"]);
  });

  test("a place that is left again is free for the next one", async () => {
    const places = urgentFirst(2);
    for (let i = 0; i < 10; i++) {
      await places.take(i % 2 === 0);
      places.leave();
    }
    await Promise.all([places.take(false), places.take(false)]);
  });

  test("closing refuses those who wait and those who come later", async () => {
    const places = urgentFirst(1);
    await places.take(false);
    const waiting = places.take(true);
    places.close(new Error("stopping"));
    await expect(waiting).rejects.toThrow("stopping");
    await expect(places.take(false)).rejects.toThrow("stopping");
  });
});

describe("a caller that waits for all places", () => {
  /** Takes places under names, and tells who was admitted in which order. */
  function pool(count: number) {
    const places = urgentFirst(count);
    const order: string[] = [];
    const take = (name: string, urgent: boolean, alone = false) =>
      void places.take(urgent, alone).then(() => order.push(name));
    return { places, order, take };
  }

  test("gets them once all are free, and nobody slips in before or meanwhile", async () => {
    const { places, order, take } = pool(3);
    for (const name of ["a", "b"]) take(name, false);
    take("alone", true, true);
    take("urgent", true);
    take("other", false);
    await settled();
    // One place is free, and it stays so.
    expect(order).toEqual(["a", "b"]);
    places.leave();
    await settled();
    expect(order).toEqual(["a", "b"]);
    places.leave();
    await settled();
    expect(order).toEqual(["a", "b", "alone"]);
    places.leave(true);
    await settled();
    expect(order).toEqual(["a", "b", "alone", "urgent", "other"]);
  });

  test("comes after the urgent callers before it, and two of them after each other", async () => {
    const { places, order, take } = pool(2);
    for (const name of ["a", "b", "c"]) take(name, true);
    for (const name of ["alone 1", "alone 2"]) take(name, true, true);
    await settled();
    expect(order).toEqual(["a", "b"]);
    for (let left = 0; left < 3; left += 1) places.leave();
    await settled();
    expect(order).toEqual(["a", "b", "c", "alone 1"]);
    places.leave(true);
    await settled();
    expect(order.at(-1)).toBe("alone 2");
  });

  test("never runs beside anybody, whatever comes and goes", async () => {
    const caller = fc.record({ urgent: fc.boolean(), alone: fc.boolean() });
    const property = fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.oneof(caller, fc.constant("leave" as const)), { maxLength: 40 }),
      async (count, steps) => {
        const places = urgentFirst(count);
        const inside: boolean[] = [];
        let waiting = 0;
        const leave = () => {
          const alone = inside.shift();
          if (alone !== undefined) places.leave(alone);
          return alone !== undefined;
        };
        const check = async () => {
          await settled();
          expect(inside.length).toBeLessThanOrEqual(count);
          if (inside.includes(true)) expect(inside).toEqual([true]);
        };
        for (const step of steps) {
          if (step === "leave") leave();
          else {
            waiting += 1;
            void places.take(step.urgent, step.alone).then(() => {
              waiting -= 1;
              inside.push(step.alone);
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

  test("is refused when the pool closes", async () => {
    const { places } = pool(2);
    await places.take(false);
    const waiting = places.take(true, true);
    places.close(new Error("stopping"));
    await expect(waiting).rejects.toThrow("stopping");
  });
});
