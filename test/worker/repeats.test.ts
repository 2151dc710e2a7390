import { describe, expect, test } from "vitest";
import { decodeJson } from "../../src/engine/model/decode.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import type { WorkMessage } from "../../src/engine/model/message.ts";
import { heartbeatBlobs } from "../../src/engine/model/names.ts";
import { failureSchema } from "../../src/engine/model/run.ts";
import { decodeHeartbeat } from "../../src/engine/model/workerHeartbeat.ts";
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
  await world.submit({ calculation: "joining", params: { chunks: 3 }, packSize: 1, retryAfterS: [60] });
  await world.work({ ...common, kind: "plan" });
  begun.length = 0;
  const message = { ...computeOf(await world.plan(), 1), ...(await world.named()) };
  const left = () => world.list("runs").filter((name) => /^(failed|parts)/.test(name));
  const failure = async (name: string) =>
    decodeJson(failureSchema, await world.bytesOf(world.names.runs, name), name);
  /** What the heartbeat of this process tells: each piece of work, its send, and whether a thread has it. */
  const told = async () => {
    const listed = await world.storage.blobs.list(world.names.coordination, heartbeatBlobs, {
      metadata: true,
    });
    return listed.blobs.flatMap(({ metadata, name: blob }) =>
      decodeHeartbeat(metadata, blob).works.map(({ work: { kind }, send, begun: has }) => ({
        kind,
        send,
        begun: has,
      })),
    );
  };
  return { world, message, begun, left, failure, told };
}
const callsOf = ({ storage }: Awaited<ReturnType<typeof planned>>["world"]) => ({
  ...storage.meter.counts(),
});

describe("a message that is delivered again", () => {
  test.each<[string, Partial<WorkMessage>, number, string]>([
    ["by the host", {}, 2, "lost"],
    ["as a copy that says so", { silent: true }, 1, "lost"],
    ["by the host, and was isolated,", { isolated: true }, 2, "process-ended"],
    ["as such a copy, and was isolated,", { silent: true, isolated: true }, 1, "process-ended"],
  ])("%s does not compute: its send ends with a record", async (_what, change, attempt, code) => {
    const { world, message, begun, left, failure } = await planned();
    await world.work({ ...message, ...change } as WorkMessage, { attempt });
    expect(begun).toEqual([]);
    expect(left()).toEqual(["failed/00000/00000001.001.001"]);
    expect(await failure(record)).toMatchObject({ cause: "unreported", code, attempts: 1 });
    expect((await failure(record)).final).toBeUndefined();
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
    expect(await failure(record)).toMatchObject({ code: "lost", attempts: 3 });
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

  test("begins only once the heartbeat of its process tells of it, and leaves nothing else, however it ends", async () => {
    let seen: unknown[] = [];
    let throwing = false;
    const made = await planned(async () => {
      seen = [...made.left(), ...(await made.told())];
      if (throwing) throw new Error("no luck");
    });
    const { world, message, left } = made;
    await world.work({ ...message, send: 2, repeat: true });
    expect(seen).toEqual([{ kind: "pack", send: 2, begun: true }]);
    expect(left()).toEqual(["parts/00000/00000001"]);
    throwing = true;
    await world.work({ ...computeOf(await world.plan(), 2), send: 3, repeat: true });
    expect(seen).toEqual(["parts/00000/00000001", { kind: "pack", send: 3, begun: true }]);
    expect(left()).toEqual(["failed/00000/00000002.001.003.tried", "parts/00000/00000001"]);
  });

  test("does not begin while storage takes no heartbeat, and is enqueued again after a minute of that", async () => {
    const { world, message, begun, left } = await planned();
    const { create } = world.storage.blobs;
    let refused = 0;
    Object.assign(world.storage.blobs, {
      create: (...call: Parameters<typeof create>) => {
        if (call[0] !== world.names.coordination) return create(...call);
        refused += 1;
        return Promise.reject(new StorageError("busy", "ServerBusy", 503, "busy"));
      },
    });
    const repeat = { ...message, send: 2, repeat: true };
    await world.world.finish(world.work(repeat));
    expect([begun, left(), refused > 1]).toEqual([[], [], true]);
    Object.assign(world.storage.blobs, { create });
    await world.world.advance(31_000);
    expect(await world.messages("urgent")).toEqual([repeat]);
    await world.host();
    expect([begun, left()]).toEqual([[1], ["parts/00000/00000001"]]);
  });

  test("makes no extra call for a first send that is short, and which no heartbeat tells of", async () => {
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

  test("of a task is told of by the heartbeat as well", async () => {
    const { world, left, told } = await planned();
    for (const pack of [0, 1, 2]) await world.work(computeOf(await world.plan(), pack));
    const { finish: inline } = world.ports.userCode;
    let seen: unknown[] = [];
    Object.assign(world.ports.userCode, {
      finish: async (...call: Parameters<typeof inline>) => {
        const result = await inline(...call);
        seen = await told();
        return result;
      },
    });
    await world.work({ ...finish, send: 2, repeat: true } as WorkMessage);
    expect(seen).toEqual([{ kind: "finish", send: 2, begun: true }]);
    expect((await world.manifest()).folded).toBe(3);
    expect(left().filter((name) => name.startsWith("failed/"))).toEqual([]);
  });
});

test("a repeated finish whose manifest is there folds nothing again", async () => {
  const { world } = await planned();
  for (const pack of [0, 1, 2]) await world.work(computeOf(await world.plan(), pack));
  await world.work(finish as WorkMessage);
  const { finish: inline } = world.ports.userCode;
  let finished = 0;
  Object.assign(world.ports.userCode, {
    finish: (...call: Parameters<typeof inline>) => {
      finished += 1;
      return inline(...call);
    },
  });
  await world.work({ ...finish, send: 2, repeat: true } as WorkMessage);
  expect(finished).toBe(0);
});

test("a first send that lasts is told of by the heartbeat of its process until it has ended", async () => {
  const seen: unknown[] = [];
  const made = await planned(async () => {
    for (let second = 0; second < 45; second += 1) {
      await made.world.ports.clock.sleep(1_000);
      if (second > 0) seen.push(await made.told());
    }
  });
  await made.world.world.finish(made.world.work(made.message));
  expect(seen).toEqual(Array(44).fill([{ kind: "pack", send: 1, begun: true }]));
  await made.world.world.advance(2_000);
  expect(await made.told()).toEqual([]);
});
