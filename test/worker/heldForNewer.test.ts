import { expect, test } from "vitest";
import { limits } from "../../src/engine/model/limits.ts";
import { handlePoison, handleWork } from "../../src/engine/worker/handleWork.ts";
import { inlineCode, joining, workerWorld } from "./workerWorld.ts";

const newer = { v: 2, kind: "dance", run: "r", uid: "u", steps: { to: [1, null, "ü"] } };

async function deliver(message: object, handle: typeof handleWork | typeof handlePoison = handleWork) {
  const made = await workerWorld(inlineCode(joining));
  const { ports, names, storage } = made;
  await handle(ports, { queue: names.packs, urgent: false, text: JSON.stringify(message), attempt: 1 });
  await made.world.advance(limits.retryDelayS * 1_000 + 1_000);
  const waiting = await storage.queues.peek(names.packs, 32);
  const dropped = storage.operator.blobNames(names.runs).filter((name) => name.startsWith("_dropped/"));
  return { ...made, waiting: waiting.map(({ text }) => JSON.parse(text) as unknown), dropped };
}

test.each([
  [undefined, 1],
  [1, 2],
  [limits.heldForNewerMax - 1, limits.heldForNewerMax],
  [-5, 1],
  ["many", 1],
  [1e300, 1],
])(
  "a message of a newer version that was held %s times is held once more, otherwise unchanged",
  async (before, after) => {
    const { waiting, dropped } = await deliver({ ...newer, heldForNewer: before });
    expect(waiting).toEqual([{ ...newer, heldForNewer: after }]);
    expect(dropped).toEqual([]);
  },
);

test("a message of an older version than is read is held too", async () => {
  const older = { ...newer, v: 0 };
  for (const handle of [handleWork, handlePoison]) {
    const { waiting, dropped } = await deliver(older, handle);
    expect(waiting).toEqual([{ ...older, heldForNewer: 1 }]);
    expect(dropped).toEqual([]);
  }
});

test.each([handleWork, handlePoison])(
  "a message of a version that never comes is recorded and dropped after a day, by %o",
  async (handle) => {
    const { waiting, dropped, log } = await deliver(
      { ...newer, heldForNewer: limits.heldForNewerMax },
      handle,
    );
    expect(waiting).toEqual([]);
    expect(dropped).toHaveLength(1);
    expect(log.map(({ event, fields }) => [event, fields["code"]])).toEqual([
      ["message-dropped", "newer-version"],
    ]);
    expect((limits.heldForNewerMax * limits.retryDelayS) / 3_600).toBe(24);
  },
);

test.each([
  ["is too long once it is written again", { ...newer, steps: Array.from({ length: 4_000 }, () => 1e20) }],
  ["has a character that no queue takes", { ...newer, steps: "\uffff" }],
])(
  "a message of a newer version that %s is recorded and dropped, because it could not be held",
  async (_what, message) => {
    for (const handle of [handleWork, handlePoison]) {
      const { waiting, dropped, log } = await deliver(message, handle);
      expect(waiting).toEqual([]);
      expect(dropped).toHaveLength(1);
      expect(log.map(({ event, fields }) => [event, fields["code"]])).toEqual([
        ["message-dropped", "bad-message"],
      ]);
    }
  },
);
