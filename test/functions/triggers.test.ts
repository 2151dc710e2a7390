import type { InvocationContext } from "@azure/functions";
import { beforeEach, expect, test, vi } from "vitest";
import { type Lifecycle, registerTriggers } from "../../src/app/functions/registerTriggers.ts";

type Handler = (input: unknown, context: InvocationContext) => Promise<unknown>;

/** The handlers by the names of their functions, as the host would get them. */
const handlers = vi.hoisted(() => new Map<string, Handler>());
vi.mock("@azure/functions", () => {
  const register = (name: string, { handler }: { handler: Handler }) => void handlers.set(name, handler);
  return { app: { timer: register, storageQueue: register } };
});

const logged: string[] = [];
const note = (line: string) => void logged.push(line);
const context = { debug: note, info: note, warn: note, error: note } as unknown as InvocationContext;

/** Handlers whose end a stop waits for. */
let awaited = 0;

const invoke = async (name: string, body = "a message"): Promise<unknown> =>
  handlers.get(name)?.(body, context);

const lifecycle: Lifecycle = {
  stopping: new AbortController().signal,
  during(work) {
    awaited += 1;
    return work();
  },
  ticked: () => {},
};

beforeEach(() => {
  logged.length = 0;
  awaited = 0;
  registerTriggers("test", () => Promise.reject(new Error("no calculations")), lifecycle);
});

test("the handler of wake logs that the app cannot be made and does not throw", async () => {
  await expect(invoke("wake")).resolves.toBeUndefined();
  expect(logged.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ where: "wake", message: "no calculations" }),
  ]);
});

test("the host polls no queue but those of work and wakes", () => {
  expect([...handlers.keys()].sort()).toEqual(["coordinator", "wake", "worker", "workerUrgent"]);
});

test.each(["coordinator", "worker", "workerUrgent"])(
  "the handler of %s fails if the app cannot be made, so that the host reports or delivers it again",
  async (name) => {
    await expect(invoke(name)).rejects.toThrow("no calculations");
  },
);

test.each(["coordinator", "wake", "worker", "workerUrgent"])(
  "a stop of the process waits for the handler of %s",
  async (name) => {
    await invoke(name).catch(() => undefined);
    expect(awaited).toBe(1);
  },
);
