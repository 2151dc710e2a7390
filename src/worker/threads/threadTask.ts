import type { MessagePort } from "node:worker_threads";
import type { FileAccess, FileFact } from "../../calculations/files.ts";

/** What a thread starts with; `files` are those of the user's calculations. */
export interface ThreadData {
  readonly files: readonly string[];
  readonly printToError: boolean | undefined;
}

/** What the pool hands to a thread, and what they say to each other over the task's own port. */
export type ThreadTask = {
  readonly port: MessagePort;
  readonly limitMs: number;
  /** Identity of the code that the process has told of; a thread that starts later may find another file. */
  readonly code: string | undefined;
} & ThreadWork;

export type ThreadWork =
  | { readonly kind: "plan"; readonly calculation: string; readonly params: unknown }
  | {
      readonly kind: "compute";
      readonly calculation: string;
      readonly params: unknown;
      readonly from: number;
      readonly to: number;
      readonly count: number;
      readonly inputs?: readonly unknown[];
    }
  | {
      readonly kind: "fold";
      readonly calculation: string;
      readonly params: unknown;
      readonly parts: readonly Uint8Array[];
    }
  | {
      readonly kind: "finish";
      readonly calculation: string;
      readonly params: unknown;
      readonly parts: readonly Uint8Array[];
      readonly folded: number;
      readonly count: number;
    };

/**
 * From the thread: it has taken the task, or it hands over inputs of a plan, each answered by `go`; or it asks for files,
 * several at a time. An answer has its question's `id`.
 */
export type FromThread = { readonly id: number } & Question;
export type Question =
  | { readonly say: "taken" }
  | { readonly say: "inputs"; readonly inputs: readonly unknown[] }
  | { readonly say: "list"; readonly source: string; readonly cursor: string | undefined }
  | { readonly say: "read"; readonly file: FileFact; readonly from: number; readonly to: number };

/** To the thread: go on, give up, what it asked for, or why that cannot be had. */
export type ToThread = { readonly id: number } & Reply;
export type Reply =
  | { readonly say: "go" | "drop" }
  | { readonly say: "listed"; readonly page: Awaited<ReturnType<FileAccess["list"]>> }
  | { readonly say: "bytes"; readonly bytes: Uint8Array }
  | { readonly say: "failed"; readonly code: string; readonly message: string };

/** A thread's answer; errors of user code travel as data, since classes do not survive the way. */
export type ThreadAnswer =
  | { readonly ok: true; readonly ms: number; readonly value: unknown }
  | {
      readonly ok: false;
      readonly ms: number;
      /** With `other-code`: the identity of what this thread has loaded. */
      readonly has?: string;
      readonly code: string;
      readonly message: string;
      readonly stack?: string | undefined;
    };
