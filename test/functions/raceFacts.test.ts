import { expect, test } from "vitest";
import { factsOf } from "../../src/app/functions/registerTriggers.ts";
import { StorageError } from "../../src/engine/model/errors.ts";

test("an outcome tells why nobody leads", () => {
  const error = new StorageError("busy", "ServerBusy", undefined, "the server is busy");
  expect(factsOf({ kind: "unreachable", step: "acquire", error })).toEqual({
    cause: "acquire: the server is busy",
  });
  expect(factsOf({ kind: "refused", code: "denied", reason: "no role" })).toEqual({
    cause: "denied: no role",
  });
  expect(factsOf({ kind: "follower", leader: { kind: "none" } })).toEqual({});
  expect(factsOf({ kind: "nothingToLead", lastTerm: 3 })).toEqual({});
  const led = { kind: "led", term: 4, termid: "t", drained: true, handedOver: true } as const;
  expect(factsOf({ ...led, cause: "failed", error })).toEqual({
    term: 4,
    cause: "failed: the server is busy",
  });
  expect(factsOf({ ...led, cause: "budget" })).toEqual({ term: 4, cause: "budget" });
});

test("a follower tells for how long its leader has been silent, in seconds", () => {
  const record = { term: 4 } as never;
  const leader = {
    kind: "known",
    leading: true,
    ageMs: 90_000,
    atMs: 0,
    leaseState: "leased",
    record,
  } as const;
  expect(factsOf({ kind: "follower", leader })).toEqual({ term: 4, silentS: 90 });
});
