import { MessageChannel } from "node:worker_threads";
import { afterEach, expect, it } from "vitest";
import {
  answerThread,
  type Question,
  type Reply,
  threadPort,
} from "../../src/engine/worker/threads/threadTask.ts";

let close = (): void => {};
afterEach(() => close());

/** Both ends of one task's port, in this thread. */
function ends(reply: (question: Question) => Promise<Reply | undefined>, signal: AbortSignal) {
  const { port1, port2 } = new MessageChannel();
  answerThread(port1, signal, reply);
  close = () => port1.close();
  return threadPort(port2);
}

const { signal } = new AbortController();
const file = { path: "c/a", bytes: 8, etag: "e" };

it("Each question gets its own answer, whatever their order, and questions of one turn share a message", async () => {
  const held = Promise.withResolvers<void>();
  const asked: string[] = [];
  const { access, ask } = ends(async (question) => {
    asked.push(question.say);
    if (question.say !== "read") return { say: "go" };
    if (question.from === 0) await held.promise;
    else held.resolve();
    return { say: "bytes", bytes: new Uint8Array(question.to - question.from) };
  }, signal);
  const all = [access.read(file, 0, 3), access.read(file, 1, 2), ask({ say: "taken", thread: 1 })] as const;
  const [first, second, go] = await Promise.all(all);
  expect([first.length, second.length, go]).toEqual([3, 1, { say: "go", id: 2 }]);
  expect(asked).toEqual(["read", "read", "taken"]);
});

it("Bytes move to the thread and are not copied", async () => {
  const bytes = new Uint8Array(8).fill(7);
  const { access } = ends(async () => ({ say: "bytes", bytes }), signal);
  expect(await access.read(file, 0, 8)).toEqual(new Uint8Array(8).fill(7));
  expect(bytes.byteLength).toBe(0);
});

it("A question without an answer, and one of a task that is over, is not answered", async () => {
  const over = new AbortController();
  const told: string[] = [];
  const { ask } = ends(async ({ say }) => {
    if (say === "taken") return undefined;
    if (say === "inputs") over.abort();
    return { say: "go" };
  }, over.signal);
  const note = (name: string) => () => void told.push(name);
  void ask({ say: "taken", thread: 1 }).then(note("none"));
  await ask({ say: "list", source: "s", cursor: undefined }).then(note("list"));
  void ask({ say: "inputs", inputs: [] }).then(note("over"));
  await new Promise((resolve) => over.signal.addEventListener("abort", resolve));
  await new Promise(setImmediate);
  expect(told).toEqual(["list"]);
});
