import type { MessagePort } from "node:worker_threads";
import type { FileAccess, FileFact } from "../../calculation/files.ts";
import type { ChunkFailure } from "../../calculation/runJob.ts";
import { CalculationError } from "../../model/errors.ts";
import type { PrintedLine } from "../../model/printed.ts";
import type { ChunkMark } from "./chunkMark.ts";
import type { ErrorData } from "./threadError.ts";
import type { AskTask, CalculationTask, ComputeTask, FinishTask, FoldTask } from "./userCode.ts";

/** What a process and its threads say to each other, and both ends of the port over which they say it. */

/** What a thread starts with; `files` are those of the user's calculations. */
export interface ThreadData {
  readonly files: readonly string[];
  readonly printToError: boolean | undefined;
}

export type ThreadTask = {
  /** Belongs to this task alone. */
  readonly port: MessagePort;
  readonly limitMs: number;
  /** What is shared by the chunks of one run belongs to this; see `TaskOptions`. */
  readonly run: string;
  /** Identity of the code that the process has named; a thread that starts later may load a newer file. */
  readonly code: string | undefined;
  readonly mark: ChunkMark;
} & ThreadWork;

export type ThreadWork =
  | ({ readonly kind: "plan" } & CalculationTask)
  | ({ readonly kind: "compute"; readonly keeps: boolean } & ComputeTask)
  | ({ readonly kind: "fold" } & FoldTask)
  | ({ readonly kind: "ask" } & AskTask)
  | ({ readonly kind: "finish" } & FinishTask);

/**
 * From the thread: it has taken the task, `thread` being its own id, or it hands over inputs of a plan, a file to save or what is kept,
 * each answered by `go`; or it asks for files. A message is a list of these, and a reply has its question's `id`.
 */
type FromThread = { readonly id: number } & Question;
export type Question =
  | { readonly say: "taken"; readonly thread: number }
  | { readonly say: "inputs"; readonly inputs: readonly unknown[] }
  /** A chunk threw, and is computed again by this task. */
  | ({ readonly say: "threw" } & ChunkFailure)
  | { readonly say: "save"; readonly name: string; readonly body: Uint8Array }
  /** Of a pack that lacks chunks: what another attempt can begin with. */
  | { readonly say: "keep"; readonly body: Uint8Array }
  /** User code printed a line, or as the last thing so many that were not sent. */
  | { readonly say: "printed"; readonly line?: PrintedLine; readonly more?: number }
  | { readonly say: "list"; readonly source: string; readonly cursor: string | undefined }
  | {
      readonly say: "read";
      readonly file: FileFact;
      readonly from: number;
      readonly to: number;
      readonly spare: ArrayBuffer | undefined;
    };

/** To the thread: go on, stop, the answer, or why there is none. */
type ToThread = { readonly id: number } & Reply;
export type Reply =
  | { readonly say: "go" | "drop" }
  | { readonly say: "listed"; readonly page: Awaited<ReturnType<FileAccess["list"]>> }
  | { readonly say: "bytes"; readonly bytes: Uint8Array }
  | { readonly say: "failed"; readonly code: string; readonly message: string };

/**
 * The process's end of a task's port: answers each question with what `reply` gives, if it gives anything and the task is not
 * over by then. `reply` must not reject.
 */
export function answerThread(
  port: MessagePort,
  over: AbortSignal,
  reply: (question: Question) => Promise<Reply | undefined>,
): void {
  const answer = async (question: FromThread): Promise<void> => {
    const given = await reply(question);
    if (given === undefined || over.aborted) return;
    const moved = given.say === "bytes" ? [given.bytes.buffer as ArrayBuffer] : [];
    port.postMessage({ ...given, id: question.id } satisfies ToThread, moved);
  };
  port.on("message", (questions: readonly FromThread[]) => {
    for (const question of questions) void answer(question);
  });
}

/** A thread's answer. */
export type ThreadAnswer =
  | {
      readonly ok: true;
      readonly ms: number;
      /** What of it the thread waited for a core. */
      readonly waitedMs: number;
      /** What of it the thread was not idle. */
      readonly busyMs: number;
      readonly value: unknown;
    }
  | { readonly ok: false; readonly error: ErrorData }
  /** The identity of what this thread has loaded, which is not what the process has named. */
  | { readonly ok: false; readonly has: string };

/**
 * The thread's end of a task's port: asks, and waits for the reply to that question. The first question of a turn goes at
 * once, for the calculation may compute before the turn ends; the others share a message, since each wakes the process.
 */
export function threadPort(port: MessagePort): {
  ask(question: Question): Promise<Reply>;
  /** Sends at once, and waits for nothing: the calculation may never end its turn. */
  tell(said: Question): void;
  readonly access: FileAccess;
} {
  const waiting = new Map<number, ReturnType<typeof Promise.withResolvers<Reply>>>();
  let asked = 0;
  port.on("message", (reply: ToThread) => {
    waiting.get(reply.id)?.resolve(reply);
    waiting.delete(reply.id);
  });

  const post = (questions: readonly FromThread[]): void => {
    try {
      port.postMessage(questions, questions.flatMap(movedWith));
    } catch (error) {
      // One of them is of something that cannot be sent, such as a function: the others can.
      if (questions.length > 1) for (const question of questions) post([question]);
      else for (const { id } of questions) waiting.get(id)?.reject(error);
    }
  };
  /** Those of this turn, after its first. */
  let others: FromThread[] | undefined;
  const ask = (question: Question): Promise<Reply> => {
    const id = asked++;
    const answer = Promise.withResolvers<Reply>();
    waiting.set(id, answer);
    if (others === undefined) {
      others = [];
      post([{ ...question, id }]);
      queueMicrotask(() => {
        if (others !== undefined && others.length > 0) post(others);
        others = undefined;
      });
    } else others.push({ ...question, id });
    return answer.promise;
  };

  const access: FileAccess = {
    async list(source, cursor) {
      const reply = await ask({ say: "list", source, cursor });
      if (reply.say === "listed") return reply.page;
      throw refusal(reply);
    },
    async read(file, from, to, _signal, spare) {
      const reply = await ask({ say: "read", file, from, to, spare });
      if (reply.say === "bytes") return reply.bytes;
      throw refusal(reply);
    },
    async save(name, body) {
      const reply = await ask({ say: "save", name, body });
      if (reply.say !== "go") throw refusal(reply);
    },
  };
  return { ask, tell: (said) => post([{ ...said, id: asked++ }]), access };
}

function movedWith(question: Question): ArrayBuffer[] {
  if (question.say === "save" || question.say === "keep") return [question.body.buffer as ArrayBuffer];
  return question.say === "read" && question.spare !== undefined ? [question.spare] : [];
}

export const refusal = (reply: Reply): CalculationError =>
  reply.say === "failed"
    ? new CalculationError(reply.code, reply.message)
    : new CalculationError("dropped", "the task was dropped");
