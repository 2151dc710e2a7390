import { expect, test } from "vitest";
import { makeHeldMessages } from "../../local/supervision.ts";

const message = (id: string, receipt = "r") => ({ queue: "q", id, receipt });

function held() {
  let nowMs = 0;
  const made = makeHeldMessages({ monotonicMs: () => nowMs });
  made.started("a", message("1"));
  made.started("b", message("2"));
  made.started("timer", undefined);
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { made, pass };
}

test("the messages that a worker ran for come back with the receipts that are valid then", () => {
  const { made } = held();
  made.ended("a");
  made.renewed(message("2", "newer"));
  expect(made.died()).toEqual([message("2", "newer")]);
  expect(made.died()).toEqual([]);
});

test("after a timeout only the message of that invocation comes back", () => {
  expect(held().made.died("b")).toEqual([message("2")]);
  expect(held().made.died("timer")).toEqual([]);
});

test("the third death within half an hour ends the host, and no message comes back", () => {
  const { made, pass } = held();
  const again = () => {
    made.started("c", message("3"));
    return made.died().length;
  };
  expect(again()).toBe(3);
  pass(10 * 60_000);
  expect(again()).toBe(1);
  pass(10 * 60_000);
  expect(again()).toBe(0);
  // The new host counts anew.
  expect(again()).toBe(1);
  pass(31 * 60_000);
  expect([again(), again()]).toEqual([1, 1]);
});

test("a process that is killed or stopped by request ends as an instance does", () => {
  const { made } = held();
  made.clear();
  expect(made.died()).toEqual([]);
});
