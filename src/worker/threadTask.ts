import type { MessagePort } from "node:worker_threads";

/** What the pool hands to a thread, and what they say to each other over the task's own port. */
export type ThreadTask = { readonly port: MessagePort } & ThreadWork;

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

/** From the thread: it has taken the task and waits for `go`; or inputs of a plan, each answered by `go`. */
export type FromThread =
  | { readonly say: "taken" }
  | { readonly say: "inputs"; readonly inputs: readonly unknown[] };
/** To the thread: go on, or give up. */
export type ToThread = "go" | "drop";

/** A thread's answer; errors of user code travel as data, since classes do not survive the way. */
export type ThreadAnswer =
  | { readonly ok: true; readonly ms: number; readonly value: unknown }
  | {
      readonly ok: false;
      readonly ms: number;
      readonly code: string;
      readonly message: string;
      readonly stack?: string | undefined;
    };
