import type { MessagePort } from "node:worker_threads";
import type { FileAccess, FileFact } from "../../calculations/files.ts";
import { CalculationError } from "../../model/errors.ts";
import type { CalculationTask, ComputeTask, FinishTask, FoldTask } from "./userCode.ts";

/** What a pool and its threads say to each other, and the thread's end of the port over which they say it. */

/** What a thread starts with; `files` are those of the user's calculations. */
export interface ThreadData {
  readonly files: readonly string[];
  readonly printToError: boolean | undefined;
}

export type ThreadTask = {
  /** Belongs to this task alone. */
  readonly port: MessagePort;
  readonly limitMs: number;
  /** Identity of the code that the process has named; a thread that starts later may load a newer file. */
  readonly code: string | undefined;
} & ThreadWork;

export type ThreadWork =
  | ({ readonly kind: "plan" } & CalculationTask)
  | ({ readonly kind: "compute" } & ComputeTask)
  | ({ readonly kind: "fold" } & FoldTask)
  | ({ readonly kind: "finish" } & FinishTask);

/**
 * From the thread: it has taken the task, `thread` being its own id, or it hands over inputs of a plan, each answered by
 * `go`; or it asks for files, several at a time. A reply has its question's `id`.
 */
export type FromThread = { readonly id: number } & Question;
export type Question =
  | { readonly say: "taken"; readonly thread: number }
  | { readonly say: "inputs"; readonly inputs: readonly unknown[] }
  | { readonly say: "list"; readonly source: string; readonly cursor: string | undefined }
  | { readonly say: "read"; readonly file: FileFact; readonly from: number; readonly to: number };

/** To the thread: go on, stop, the answer, or why there is none. */
type ToThread = { readonly id: number } & Reply;
export type Reply =
  | { readonly say: "go" | "drop" }
  | { readonly say: "listed"; readonly page: Awaited<ReturnType<FileAccess["list"]>> }
  | { readonly say: "bytes"; readonly bytes: Uint8Array }
  | { readonly say: "failed"; readonly code: string; readonly message: string };

/** A thread's answer. Errors of user code travel as data, because a class does not survive the transfer. */
export type ThreadAnswer =
  | {
      readonly ok: true;
      readonly ms: number;
      /** What of it the thread waited for a core. */
      readonly waitedMs: number;
      readonly value: unknown;
    }
  | {
      readonly ok: false;
      readonly ms: number;
      /** With `other-code`: the identity of what this thread has loaded. */
      readonly has?: string;
      readonly code: string;
      readonly message: string;
      readonly stack?: string | undefined;
    };

/** The thread's end of a task's port: asks, and waits for the reply to that question. */
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
    : new CalculationError("dropped", "the task was dropped");
