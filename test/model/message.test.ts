import { describe, expect, test } from "vitest";
import { CorruptDataError, OtherVersionError } from "../../src/engine/model/errors.ts";
import {
  decodeMessage,
  encodeMessage,
  encodeWake,
  type WorkMessage,
  workOf,
} from "../../src/engine/model/message.ts";
import { parseFailure, runBlobs, workName } from "../../src/engine/model/runBlobs.ts";

const common = { v: 1, run: "r", uid: "u", gen: 2, send: 3, turn: 0 } as const;
const messages: readonly WorkMessage[] = [
  { ...common, kind: "plan" },
  { ...common, kind: "compute", shard: 1, pack: 20, from: 100, to: 105 },
  { ...common, kind: "combine", level: 1, index: 4, members: "AAA" },
  { ...common, kind: "combine", level: 2, index: 0, childGens: "1x3,2" },
  { ...common, kind: "finish", childGens: "1,2", terms: [{ term: 3, holder: "one" }] },
  { ...common, kind: "cleanup", shard: 0 },
  { ...common, kind: "cleanup" },
  { ...common, kind: "sofar", tag: "a1", nodes: "AAA", open: [3, 4] },
  { ...common, kind: "verify", tag: "a1", pack: 7 },
];

/** Top-level keys that the Functions host writes over, or reads, in its trigger metadata. */
const hostKeys = [
  "id",
  "dequeueCount",
  "insertionTime",
  "expirationTime",
  "nextVisibleTime",
  "popReceipt",
  "queueTrigger",
  "sys",
];

describe("messages", () => {
  test.each(messages.map((message) => [message.kind, message] as const))(
    "%s survives its encoding",
    (_kind, message) => {
      expect(decodeMessage(encodeMessage(message))).toEqual(message);
    },
  );

  test("no message has a key of the host's, and each stays under half a kilobyte", () => {
    for (const text of [...messages.map(encodeMessage), encodeWake("client")]) {
      expect(Object.keys(JSON.parse(text)).filter((key) => hostKeys.includes(key))).toEqual([]);
      expect(text.length).toBeLessThan(512);
    }
  });

  test.each(["", "{", "[]", "null", "7", '{"v":1,"kind":"dance"}', '{"v":1,"kind":"plan","run":"r"}'])(
    "%j is corrupt",
    (text) => {
      expect(() => decodeMessage(text)).toThrow(CorruptDataError);
    },
  );

  test("a pack without chunks is corrupt", () => {
    const text = JSON.stringify({ ...common, kind: "compute", shard: 0, pack: 0, from: 5, to: 5 });
    expect(() => decodeMessage(text)).toThrow(CorruptDataError);
  });

  test("a higher wire version is newer, never corrupt", () => {
    expect(() => decodeMessage('{"v":2,"kind":"dance"}')).toThrow(OtherVersionError);
  });
});

test("a failure record's name tells which send of which work it ends", () => {
  for (const message of messages) {
    const work = workOf(message);
    if (work === undefined) continue;
    const name = runBlobs("r", "u").failure(work, message.gen, message.send);
    expect(parseFailure(name)).toEqual({ work, generation: 2, send: 3 });
    expect(name).toContain(`/failed/${workName(work)}.`);
  }
  expect(parseFailure("r/u/parts/00000/00000001")).toBeUndefined();
});
