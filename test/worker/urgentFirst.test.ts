import { describe, expect, test } from "vitest";
import { urgentFirst } from "../../src/worker/urgentFirst.ts";

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
