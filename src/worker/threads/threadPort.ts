import type { MessagePort } from "node:worker_threads";
import type { FileAccess } from "../../calculations/files.ts";
import { CalculationError } from "../../model/errors.ts";
import type { Question, Reply, ToThread } from "./threadTask.ts";

/** The thread's end of a task's port: asks, and waits for the answer to that question. */
export function threadPort(port: MessagePort): {
  ask(question: Question): Promise<Reply>;
  readonly access: FileAccess;
} {
  const waiting = new Map<number, (reply: Reply) => void>();
  let asked = 0;
  port.on("message", (reply: ToThread) => {
    waiting.get(reply.id)?.(reply);
    waiting.delete(reply.id);
  });

  const ask = (question: Question): Promise<Reply> =>
    new Promise((resolve) => {
      const id = asked++;
      waiting.set(id, resolve);
      port.postMessage({ ...question, id });
    });

  const access: FileAccess = {
    async list(source, cursor) {
      const reply = await ask({ say: "list", source, cursor });
      if (reply.say === "listed") return reply.page;
      throw refusal(reply);
    },
    async read(file, from, to) {
      const reply = await ask({ say: "read", file, from, to });
      if (reply.say === "bytes") return reply.bytes;
      throw refusal(reply);
    },
  };
  return { ask, access };
}

const refusal = (reply: Reply): CalculationError =>
  reply.say === "failed"
    ? new CalculationError(reply.code, reply.message)
    : new CalculationError("dropped", "the task was given up");
