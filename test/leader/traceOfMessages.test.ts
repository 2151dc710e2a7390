import { expect, test } from "vitest";
import { submit } from "../../src/engine/client/submit.ts";
import { decodeMessage } from "../../src/engine/model/message.ts";
import { engineWorld } from "../support/engineWorld.ts";

const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

test("every message of a run has the trace of its submit, and so has what the log says of it", async () => {
  const sent: ReturnType<typeof decodeMessage>[] = [];
  let fails = true;
  const engine = engineWorld({
    code: {
      onChunk(chunk) {
        if (chunk === 2 && fails) throw new Error("not yet");
      },
    },
    watched: (storage) => ({
      ...storage,
      queues: {
        ...storage.queues,
        send: (queue, text, options) => {
          if (!queue.endsWith("wake")) {
            const message = decodeMessage(text);
            if ((message.tries ?? 0) > 0) fails = false;
            sent.push(message);
          }
          return storage.queues.send(queue, text, options);
        },
      } as typeof storage.queues,
    }),
  });
  engine.start();
  const request = { calculation: "ranges", params: { chunks: 600 }, packSize: 1, id: "r" };
  await engine.world.finish(submit({ ...engine.client, trace }, request));
  await engine.world.finish(engine.untilEnd("r"));
  const kinds = new Set(sent.map(({ kind }) => kind));
  expect(kinds).toEqual(new Set(["plan", "compute", "combine", "finish", "cleanup"]));
  // One that threw was enqueued again by its worker.
  expect(sent.some(({ tries = 0 }) => tries > 0)).toBe(true);
  expect(new Set(sent.map((message) => message.trace))).toEqual(new Set([trace]));
  const told = new Map(engine.log.flatMap(({ event, of }) => (of === undefined ? [] : [[event, of.trace]])));
  expect(Object.fromEntries(told)).toEqual({
    "run-taken-over": trace,
    "run-phase": trace,
    "work-done": trace,
    "work-failed": trace,
    "run-ended": trace,
  });
});
