import fc from "fast-check";
import { expect, test } from "vitest";
import { deliveryOf } from "../../src/app/functions/registerTriggers.ts";
import { handlePoison, handleWork } from "../../src/engine/worker/handleWork.ts";
import { fuzzRuns } from "../support/fuzzRuns.ts";
import { hostileBytes } from "../support/hostileValues.ts";
import { common, inlineCode, joining, workerWorld } from "./workerWorld.ts";

const runs = fuzzRuns(600, 8_000);

const messages = [
  { ...common, kind: "plan" },
  { ...common, kind: "compute", shard: 0, pack: 0, from: 0, to: 1 },
  { ...common, kind: "combine", level: 1, index: 0, members: "_w" },
  { ...common, kind: "finish", members: "AQ" },
  { ...common, kind: "sofar", tag: "t", nodes: "_w", open: [0] },
  { ...common, kind: "verify", tag: "t", pack: 0 },
  { ...common, kind: "cleanup" },
  { ...common, v: 2, kind: "dance" },
];

/** As the library hands bodies over: JSON is parsed, everything else is text. */
function handedOver(bytes: Buffer): unknown {
  const text = bytes.toString("utf8");
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

test("whatever a queue holds, its handlers end without an error, and a message that does not decode is recorded", async () => {
  const made = await workerWorld(inlineCode(joining));
  await made.submit({ params: { chunks: 5 }, packSize: 1 });
  const { ports, names } = made;
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(hostileBytes(messages).map(handedOver), fc.anything()),
      fc.boolean(),
      fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constantFrom("x", -1, null)),
      async (body, poison, dequeueCount) => {
        const delivery = deliveryOf(body, { triggerMetadata: { dequeueCount } }, names.urgent, true);
        const handled = poison ? handlePoison(ports, delivery) : handleWork(ports, delivery);
        await made.world.finish(handled, 3_600_000);
      },
    ),
    runs,
  );
  expect(made.log.filter(({ event }) => event === "unexpected")).toEqual([]);
  expect(made.log.some(({ event }) => event === "message-dropped")).toBe(true);
});
