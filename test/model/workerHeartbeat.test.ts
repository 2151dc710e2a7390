import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CorruptDataError, OtherVersionError } from "../../src/engine/model/errors.ts";
import { electionBlob, heartbeatBlob, parseHeartbeatBlob } from "../../src/engine/model/names.ts";
import {
  decodeHeartbeat,
  encodeHeartbeat,
  isLive,
  type WorkerHeartbeat,
} from "../../src/engine/model/workerHeartbeat.ts";
import { fuzzRuns } from "../support/fuzzRuns.ts";
import { hostileText } from "../support/hostileValues.ts";

const of = { run: "r", uid: "u", generation: 1, send: 2, ageMs: 1_500 };
const heartbeat: WorkerHeartbeat = {
  ...{ threads: 2, everyMs: 2_000, version: "1.2.3", codes: ["mine@1"], memoryMb: 120, ended: undefined },
  works: [
    {
      ...{ ...of, work: { kind: "pack", shard: 0, pack: 17 }, begun: true, isolated: true },
      ...{ chunks: { from: 170, to: 180 }, chunk: 175 },
    },
    { ...of, work: { kind: "node", level: 1, index: 3 }, begun: true, isolated: false },
    { ...of, work: { kind: "finish" }, begun: false, isolated: false },
  ],
};

describe("a heartbeat", () => {
  test("is read as it was written", () => {
    expect(decodeHeartbeat(encodeHeartbeat(heartbeat), "it")).toEqual(heartbeat);
    expect(decodeHeartbeat(encodeHeartbeat({ ...heartbeat, ended: "signal SIGKILL" }), "it").ended).toBe(
      "signal SIGKILL",
    );
  });

  test("says how its process ended in characters that a header carries", () => {
    const { ended = "" } = encodeHeartbeat({ ...heartbeat, ended: `jürgen/a.ts\n${"x".repeat(900)}` });
    expect(ended).toMatch(/^j\?rgen\/a\.ts\?x+$/);
    expect(ended).toHaveLength(200);
  });

  test("has at most 8 KB, however much work there is", () => {
    const works = Array.from({ length: 500 }, () => heartbeat.works[0] as WorkerHeartbeat["works"][number]);
    const encoded = encodeHeartbeat({ ...heartbeat, works, codes: ["c".repeat(2_000)] });
    expect(Object.entries(encoded).flat().join("").length).toBeLessThan(8_192);
    expect(decodeHeartbeat(encoded, "it").works.length).toBeGreaterThan(50);
  });

  test("of a newer version is told as that", () => {
    expect(() => decodeHeartbeat({ v: "9", other: "x" }, "it")).toThrow(OtherVersionError);
    expect(() => decodeHeartbeat({ v: "1", other: "x" }, "it")).toThrow(CorruptDataError);
  });

  test("that names a long interval holds no longer than the longest that a process keeps", () => {
    expect(isLive({ ...heartbeat, everyMs: 1e12 }, 0, 30_000)).toBe(true);
    expect(isLive({ ...heartbeat, everyMs: 1e12 }, 0, 30_001)).toBe(false);
    expect(isLive({ ...heartbeat, ended: "exit code 1" }, 0, 0)).toBe(false);
  });
});

describe("the blob of a heartbeat", () => {
  test.each([
    ["node-1", "workers/node-1.a1b2c3d4"],
    ["host.example-17", "workers/host.example-17.a1b2c3d4"],
    ["a/../b c", "workers/a=2F..=2Fb=20c.a1b2c3d4"],
    ["..", "workers/...a1b2c3d4"],
    ["50=%25", "workers/50=3D=2525.a1b2c3d4"],
  ])("of the instance %j is %s, and tells the instance", (instance, blob) => {
    expect(heartbeatBlob(instance, "a1b2c3d4")).toBe(blob);
    expect(parseHeartbeatBlob(blob)).toEqual({ instance, boot: "a1b2c3d4" });
  });

  test("has a name that storage takes, whatever the instance is called", () => {
    const taken = (blob: string) => electionBlob(blob.replace(/^workers\//, ""));
    fc.assert(
      fc.property(hostileText, (instance) => {
        const blob = heartbeatBlob(instance, "a1b2c3d4");
        expect(taken(blob)).toBe(blob.slice("workers/".length));
        expect(blob).toMatch(/^[\x21-\x7e]+$/);
      }),
      fuzzRuns(500, 5_000),
    );
  });

  test("is read without an error, whatever a stranger has named", () => {
    expect(parseHeartbeatBlob("workers/%=zz")).toEqual({ instance: "%=zz", boot: "" });
    fc.assert(
      fc.property(hostileText, (name) => void parseHeartbeatBlob(`workers/${name}`)),
      fuzzRuns(500, 5_000),
    );
  });
});
