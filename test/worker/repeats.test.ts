import { describe, expect, test } from "vitest";
import { decodeJson } from "../../src/model/decode.ts";
import { StorageError } from "../../src/model/errors.ts";
import { limits } from "../../src/model/limits.ts";
import type { WorkMessage } from "../../src/model/message.ts";
import { failureSchema } from "../../src/model/run.ts";
import { at, common, computeOf, inlineCode, joining, workerWorld } from "./workerWorld.ts";

const work = { kind: "pack", shard: 0, pack: 1 } as const;
const record = at.failure(work, 1, 1);
const finish: WorkMessage = { ...common, kind: "finish" };

/** Three packs of one chunk; user code tells of each chunk that begins. `meanwhile` happens while one computes. */
async function planned(meanwhile: () => Promise<void> = async () => {}) {
  const begun: number[] = [];
  const calculation = {
    ...joining,
    async compute(chunk: Parameters<typeof joining.compute>[0]): Promise<unknown> {
      begun.push(chunk.index);
      await meanwhile();
      return joining.compute(chunk);
    },
  };
  const world = await workerWorld(inlineCode(calculation));
  await world.submit({ calculation: "joining", params: { chunks: 3 }, packSize: 1 });
  await world.work({ ...common, kind: "plan" });
  begun.length = 0;
  const message = computeOf(await world.plan(), 1);
  const left = () => world.list("runs").filter((name) => /^(failed|parts)/.test(name));
  const failure = async (name: string) =>
    decodeJson(failureSchema, await world.bytesOf(world.names.runs, name), name);
  /** A process died with this send: its note is left. */
  const died = (send: number, tag = "1-1-abcdefgh") =>
    world.storage.blobs.create(world.names.runs, at.begun(work, 1, send, tag), "");
  return { world, message, begun, left, failure, died };
}
const callsOf = ({ storage }: Awaited<ReturnType<typeof planned>>["world"]) => ({
  ...storage.meter.counts(),
});

describe("a message that is delivered again", () => {
  test.each<[string, Partial<WorkMessage>, number]>([
    ["by the host", {}, 2],
    ["as a copy that says so", { silent: true }, 1],
  ])("%s does not compute: its send ends with the death of its process", async (_what, change, attempt) => {
    const { world, message, begun, left, failure } = await planned();
    await world.work({ ...message, ...change } as WorkMessage, { attempt });
    expect(begun).toEqual([]);
    expect(left()).toEqual(["failed/00000/00000001.001.001"]);
    expect(await failure(record)).toMatchObject({ cause: "poison", code: "process-ended", attempts: 1 });
    expect(await world.messages("urgent")).toEqual([]);
  });

  test("is completed if its output is there", async () => {
    const { world, message, begun, left } = await planned();
    await world.work(message);
    await world.work(message, { attempt: 2 });
    expect(begun).toEqual([1]);
    expect(left()).toEqual(["parts/00000/00000001"]);
  });

  test("records how many attempts of its send threw before", async () => {
    const { world, message, failure } = await planned();
    await world.work({ ...message, tries: 2 }, { attempt: 2 });
    expect(await failure(record)).toMatchObject({ code: "process-ended", attempts: 3 });
  });

  test.each([
    ["not-begun", false],
    ["process-ended", true],
  ])("and was sent before is recorded as %s by its note (%j)", async (code, noted) => {
    const { world, message, failure, died } = await planned();
    await died(1);
    if (noted) await died(2);
    await world.work({ ...message, send: 2, repeat: true }, { attempt: 2 });
    expect(await failure(at.failure(work, 1, 2))).toMatchObject({ cause: "poison", code });
  });

  test("leaves no record if the run has ended", async () => {
    const { world, message, left } = await planned();
    await world.unmark();
    await world.world.advance(6_000);
    await world.work(message, { attempt: 2 });
    expect(left()).toEqual([]);
  });

  test("is enqueued again while storage is busy, and still carries that it was delivered before", async () => {
    const { world, message, begun } = await planned();
    const { head } = world.storage.blobs;
    Object.assign(world.storage.blobs, {
      head: (...call: Parameters<typeof head>) =>
        call[1].includes("/parts/")
          ? Promise.reject(new StorageError("busy", "ServerBusy", 503, "busy"))
          : head(...call),
    });
    await world.work(message, { attempt: 2 });
    Object.assign(world.storage.blobs, { head });
    await world.world.advance(31_000);
    expect(await world.messages("urgent")).toEqual([{ ...message, silent: true }]);
    await world.host();
    expect(begun).toEqual([]);
  });

  test.each<[string, WorkMessage]>([
    ["so far", { ...common, kind: "sofar", tag: "t", nodes: "", open: [0] }],
    ["verify", { ...common, kind: "verify", tag: "t", pack: 1 }],
  ])("and came from a client (%s) is answered that its process ended", async (_what, message) => {
    const { world, begun } = await planned();
    await world.work(message, { attempt: 2 });
    const [answer = ""] = world.list("results");
    const text = Buffer.from(await world.bytesOf(world.names.results, `r/u/${answer}`)).toString();
    expect(text).toMatch(/process-ended/);
    expect(begun).toEqual([]);
  });
});

describe("a repeated send", () => {
  test("asks once whether its output is there, and computes nothing if it is", async () => {
    const { world, message, begun, left } = await planned();
    await world.work(message);
    const before = callsOf(world);
    await world.work({ ...message, send: 2, repeat: true });
    expect(begun).toEqual([1]);
    expect(callsOf(world).other - before.other).toBe(1);
    expect({ ...callsOf(world), other: 0 }).toEqual({ ...before, other: 0 });
    expect(left()).toEqual(["parts/00000/00000001"]);
  });

  test("writes a begin note and removes it, however it ends", async () => {
    let seen: string[] = [];
    let throwing = false;
    const made = await planned(async () => {
      seen = made.left();
      if (throwing) throw new Error("no luck");
    });
    const { world, message, left } = made;
    await world.work({ ...message, send: 2, repeat: true });
    expect(seen).toEqual([
      expect.stringMatching(/^failed\/00000\/00000001\.001\.002\.2-1-[0-9a-f]{8}\.begun$/),
    ]);
    expect(left()).toEqual(["parts/00000/00000001"]);
    throwing = true;
    await world.work({ ...computeOf(await world.plan(), 2), send: 3, repeat: true });
    expect(seen.filter((name) => name.endsWith(".begun"))).toHaveLength(1);
    expect(left()).toEqual(["failed/00000/00000002.001.003.tried", "parts/00000/00000001"]);
  });

  test("makes no extra call for a first send, which leaves no note", async () => {
    let seen: string[] = [];
    const made = await planned(async () => {
      seen = made.left();
    });
    const before = callsOf(made.world);
    await made.world.work(made.message);
    expect(seen).toEqual([]);
    const after = callsOf(made.world);
    // The partial; spec, plan and marker were read for the plan.
    expect([after.write - before.write, after.list - before.list]).toEqual([1, 0]);
    expect(after.other - before.other).toBe(0);
  });

  const patienceMs = 60_000 + 60_000 + limits.taskStragglerMsMin;

  test("does not begin once as many processes died with it as may, and records how many", async () => {
    const { world, message, begun, failure, died } = await planned();
    for (const send of [1, 2, 3]) await died(send);
    await world.world.advance(patienceMs + 2_000);
    await world.work({ ...message, send: 4, repeat: true });
    expect(begun).toEqual([]);
    const ended = { code: "process-ended", message: "ended its process 3 times", final: true };
    expect(await failure(at.failure(work, 1, 4))).toMatchObject(ended);
  });

  test("waits while begun attempts may still run", async () => {
    const { world, message, begun, left, died } = await planned();
    for (const send of [1, 2, 3]) await died(send);
    await world.work({ ...message, send: 4, repeat: true });
    expect([begun, left().filter((name) => !name.endsWith(".begun"))]).toEqual([[], []]);
    await world.world.advance(31_000);
    expect(await world.messages("urgent")).toEqual([{ ...message, send: 4, repeat: true }]);
  });

  test("begins if fewer processes died", async () => {
    const { world, message, begun, died } = await planned();
    for (const send of [1, 2]) await died(send);
    await world.work({ ...message, send: 3, repeat: true });
    expect(begun).toEqual([1]);
  });
});

describe("work that takes long", () => {
  /** The ages of its begin note, second by second, while it takes so long. */
  async function working(kind: "compute" | "finish", ms: number, change: Partial<WorkMessage> = {}) {
    const made = await planned();
    const { world } = made;
    for (const pack of kind === "finish" ? [0, 1, 2] : [])
      await world.work(computeOf(await world.plan(), pack));
    const { userCode } = world.ports;
    const inline = userCode[kind] as (...call: readonly unknown[]) => Promise<unknown>;
    const notes: number[] = [];
    Object.assign(userCode, {
      [kind]: async (...call: readonly unknown[]) => {
        const result = await inline(...call);
        for (let second = 0; second < ms / 1_000; second += 1) {
          await world.ports.clock.sleep(1_000);
          const [note = "none"] = made.left().filter((name) => name.endsWith(".begun"));
          const found = await world.storage.blobs.head(world.names.runs, `r/u/${note}`);
          if (found.kind === "found") notes.push(found.dateMs - found.properties.lastModifiedMs);
        }
        return result;
      },
    });
    const message = kind === "finish" ? finish : made.message;
    await world.world.finish(world.work({ ...message, ...change } as WorkMessage));
    expect(made.left().filter((name) => name.startsWith("failed/"))).toEqual([]);
    return { world, notes };
  }

  test("refreshes the begin note of a task every ten seconds, and removes it", async () => {
    const { world, notes } = await working("finish", 45_000);
    // From the tenth second on there is always a note that is not older.
    expect(notes.length).toBeGreaterThanOrEqual(35);
    expect(Math.max(...notes)).toBeLessThanOrEqual(limits.taskLifeEveryMs + 1_000);
    expect((await world.manifest()).folded).toBe(3);
  });

  test("refreshes that of a resent pack in the same way", async () => {
    const { notes } = await working("compute", 45_000, { send: 2, repeat: true });
    expect(notes.length).toBe(45);
    expect(Math.max(...notes)).toBeLessThanOrEqual(limits.taskLifeEveryMs + 1_000);
  });

  test("leaves no note in the first send of a pack, and none of a task that ends within seconds", async () => {
    expect((await working("compute", 45_000)).notes).toEqual([]);
    expect((await working("finish", 5_000)).notes).toEqual([]);
  });
});
