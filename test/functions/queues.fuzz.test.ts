import fc from "fast-check";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { StorageError } from "../../src/engine/model/errors.ts";
import type { Storage } from "../../src/engine/storage/ports.ts";
import { simNames as names } from "../support/engineWorld.ts";
import { fuzzRuns } from "../support/fuzzRuns.ts";
import { hostileBytes } from "../support/hostileValues.ts";
import { hostWorld, type Registered, registeredFunctions } from "./hostWorld.ts";

const full = process.env["LEASEFOLD_FULL"] === "1";
const worlds = full ? 2_000 : 32;
/** So many, and without a drawn seed a quarter of them. */
const tries = (deep: number) => fuzzRuns(full ? deep : deep / 4, deep);
const timeout = full ? 3_600_000 : 240_000;
/** A failing world of so many messages is shrunk for minutes, so only a full run does it. */
const messagesEach = 80;
let registered: Registered;

beforeAll(async () => {
  registered = await registeredFunctions();
});
afterEach(() => void vi.restoreAllMocks());

/** Stand for the uids of the two runs, which are drawn at submit. */
const [besideUid, victimUid] = ["beside-uid", "victim-uid"];
const common = { v: 1, gen: 1, send: 1, turn: 0 };
const asks = (run: object) => [
  { ...common, ...run, kind: "cleanup", shard: 0 },
  { ...common, ...run, kind: "verify", tag: "t", pack: 0 },
  { ...common, ...run, kind: "sofar", tag: "t", nodes: "_w", open: [0] },
];
const works = (run: object) => [
  { ...common, ...run, kind: "plan" },
  { ...common, ...run, kind: "compute", shard: 0, pack: 0, from: 0, to: 1 },
  { ...common, ...run, kind: "compute", shard: 0, pack: 1, from: 0, to: 1, silent: true },
  { ...common, ...run, kind: "combine", level: 1, index: 0, members: "_w", childGens: "1x2" },
  { ...common, ...run, kind: "finish", members: "AQ", terms: [{ term: 1, holder: "x" }] },
  { ...common, ...run, kind: "finish", gen: 2 ** 53 - 1, send: 2 ** 53 - 1, turn: 2 ** 53 - 1, mix: ["a@1"] },
];

/**
 * Valid messages from which others are made. Whoever knows a run's uid may end it by a forged send; so those for the run
 * beside that carry its uid ask for answers and for a clean-up only.
 */
const messages = [
  ...asks({ run: "beside", uid: besideUid }),
  ...asks({ run: "victim", uid: victimUid }),
  ...works({ run: "victim", uid: victimUid }),
  ...works({ run: "beside", uid: victimUid }),
  ...works({ run: "victim", uid: besideUid }),
  ...works({ run: "nobody", uid: "nobody" }),
  { v: 1, kind: "wake", from: "a test" },
  { ...common, v: 2, kind: "dance", run: "beside", uid: besideUid },
];
const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

/** Once it is parsed and written again, no queue takes it any more. */
const unsendable = (v: number) => `{"v":${v},"kind":"plan","code":"\\uffff"}`;

/** Grows fivefold when it is parsed and written again, as the library and the app do. */
const grows = (v: number) => `{"v":${v},"kind":"plan","of":[${"1e20,".repeat(8_000)}0]}`;

const text = fc.oneof(
  { weight: 8, arbitrary: hostileBytes(messages).map((bytes) => bytes.toString("utf8")) },
  { weight: 2, arbitrary: fc.constantFrom(...messages).map((message) => JSON.stringify(message)) },
  fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes).toString("base64")),
  fc.constantFrom(
    "",
    " ",
    "null",
    "[]",
    "\u0000",
    unsendable(1),
    unsendable(2),
    grows(1),
    grows(2),
    nested(400),
    nested(600),
    nested(8_000),
  ),
);
const queues = [names.packs, names.urgent, names.wake];
const sends = fc.array(fc.tuple(fc.constantFrom(...queues), text, fc.nat(4_000)), {
  minLength: messagesEach,
  maxLength: messagesEach,
});

/** Refuses every call of the app from 1.5 s to 40 s. */
function awayFor(storage: Storage, nowMs: () => number): Storage {
  const away = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(object, key) {
        const member = Reflect.get(object, key) as unknown;
        if (typeof member !== "function") return member;
        return async (...args: unknown[]) => {
          if (nowMs() > 1_500 && nowMs() < 40_000)
            throw new StorageError("busy", "ServerBusy", 503, "storage is away");
          return (member as (...all: unknown[]) => Promise<unknown>).apply(object, args);
        };
      },
    });
  return { ...storage, blobs: away(storage.blobs), queues: away(storage.queues) };
}

/** Queue, text, and when it is sent. */
type Sends = readonly (readonly [queue: string, text: string, atMs: number])[];

async function play(seed: number, sent: Sends, isAway: boolean): Promise<void> {
  const host = hostWorld(registered, seed, isAway ? awayFor : undefined);
  const { engine, world } = host;
  await engine.submit({ id: "beside", chunks: 16, packSize: 1 });
  await engine.submit({ id: "victim", chunks: 16, packSize: 1 });
  const uids = await Promise.all(
    ["beside", "victim"].map(async (id) => {
      const { blobs } = engine.storage;
      const spec = await blobs.read(names.runs, `${id}/spec.json`);
      return spec.kind === "found" ? JSON.parse(Buffer.from(spec.body).toString()).uid : "";
    }),
  );
  const stop = host.start();
  const clock = world.clock();
  let held = 0;
  for (const [queue, body, atMs] of sent)
    clock.after(atMs, () => {
      const real = body.replaceAll(besideUid, uids[0]).replaceAll(victimUid, uids[1]);
      // A queue refuses what is no XML, such as control characters.
      engine.storage.queues.send(queue, real).then(
        () => held++,
        () => {},
      );
    });
  const state = await engine.untilEnd("beside");
  expect(state).toMatchObject({ phase: "complete" });
  expect(await engine.result("beside")).toBe("[[0,16]]");
  await engine.untilEnd("victim");
  // What a handler put back is hidden for half a minute at a time, and what was received while storage was away for ten.
  const leftIn = async (queue: string) =>
    // A message of a newer version waits for an instance that knows it.
    (await engine.storage.queues.peek(queue, 32)).filter((one) => !one.text.includes("heldForNewer"));
  for (let minute = 0; minute < 12; minute += 1) {
    await world.advance(60_000);
    const left = await Promise.all(queues.map(leftIn));
    if (left.every((all) => all.length === 0)) break;
  }
  await stop();

  const errors = host.logged("error", "critical");
  expect(isAway ? errors.filter((line) => !line.includes("storage is away")) : errors).toEqual([]);
  if (!isAway)
    expect([host.failed(), ...host.logged("warning").filter((line) => / deliveries$/.test(line))]).toEqual([
      0,
    ]);
  const unexpected = host.events.filter(({ event }) => event === "unexpected");
  expect(unexpected.filter(({ fields }) => !isAway || !String(fields["message"]).includes("away"))).toEqual(
    [],
  );
  expect(host.invocations()).toBeGreaterThanOrEqual(held);
  for (const queue of queues) expect(await leftIn(queue)).toEqual([]);
}

test("every queue on which a function of the app listens is among those that are fuzzed", () => {
  const bindings = [...registered.functions.values()].flatMap(({ metadata }) =>
    Object.values(metadata.bindings),
  );
  const listened = bindings.filter(({ type }) => type === "queueTrigger").map((one) => one["queueName"]);
  expect(listened.sort()).toEqual([...queues].sort());
});

test("whatever the queues hold, every handler ends without an error, every message is done, and the run beside is complete", {
  timeout,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), sends, (seed, sent) => play(seed, sent, false)),
    { ...tries(worlds), endOnFailure: !full },
  );
});

test("while storage is away handlers fail by that alone, and afterwards every message is done and the run beside is complete", {
  timeout,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), sends, (seed, sent) => play(seed, sent, true)),
    { ...tries(worlds / 4), endOnFailure: !full },
  );
});
