import { expect, test } from "vitest";
import {
  CalculationError,
  CorruptDataError,
  LeasefoldError,
  OtherVersionError,
  StorageError,
} from "../../src/engine/model/errors.ts";
import { type Fate, fateOf } from "../../src/engine/worker/attempt/fate.ts";
import { DroppedError, MalformedWorkError, StorageLostError } from "../../src/engine/worker/ports.ts";
import { NoThreadError } from "../../src/engine/worker/threads/threadSlots.ts";

const busy = new StorageError("busy", "ServerBusy", 503, "later");

/** Fate of an early and of the last attempt of the leader's work, and the same of what a client asked. */
const table: readonly (readonly [string, unknown, readonly [Fate, Fate], readonly [Fate, Fate]])[] = [
  ["unwanted work", new DroppedError("gone"), ["drop", "drop"], ["drop", "drop"]],
  [
    "a newer version",
    new OtherVersionError("n", ""),
    ["enqueue-again", "enqueue-again"],
    ["enqueue-again", "enqueue-again"],
  ],
  ["work there is not", new MalformedWorkError("m", ""), ["malformed", "malformed"], ["end", "end"]],
  ["corrupt bytes", new CorruptDataError("c", ""), ["end", "end"], ["end", "end"]],
  ["a lost member", new StorageLostError("l", ""), ["end", "end"], ["end", "end"]],
  ["busy storage", busy, ["enqueue-again", "enqueue-again"], ["next-attempt", "end"]],
  [
    "a stopping instance",
    new LeasefoldError("stopping", "", { retry: "later" }),
    ["enqueue-again", "enqueue-again"],
    ["next-attempt", "end"],
  ],
  ["work that takes too long", new CalculationError("time-limit", ""), ["end", "end"], ["end", "end"]],
  [
    "threads that are all overdue",
    new NoThreadError(Promise.resolve()),
    ["put-back", "put-back"],
    ["put-back", "put-back"],
  ],
  ["user code that failed", new CalculationError("t", ""), ["next-attempt", "end"], ["next-attempt", "end"]],
  ["anything else", new Error("bug"), ["next-attempt", "end"], ["next-attempt", "end"]],
];

test.each(table)(
  "an attempt that ends by %s has one fate for the leader's work and one for a client's question",
  (_what, error, ours, asked) => {
    const fates = (clients: boolean) => [false, true].map((last) => fateOf(error, { last, asked: clients }));
    expect(fates(false)).toEqual(ours);
    expect(fates(true)).toEqual(asked);
  },
);
