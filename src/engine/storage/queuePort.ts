import type { CallOptions } from "./calls.ts";

/** What Leasefold needs of queues; `ports.ts` states what holds for all ports. */
interface SentMessage {
  readonly id: string;
  readonly popReceipt: string;
  readonly dateMs: number;
}

export interface QueueMessage {
  readonly id: string;
  readonly text: string;
  readonly dequeueCount: number;
  readonly insertedMs: number;
}

export interface ReceivedMessage extends QueueMessage {
  readonly popReceipt: string;
}

export interface QueueStore {
  ensureQueue(queue: string, options?: CallOptions): Promise<"created" | "existed">;
  /** Messages never expire. `visibleInS` (whole seconds, at most 7 days) hides the message first. */
  send(
    queue: string,
    text: string,
    options?: CallOptions & { readonly visibleInS?: number },
  ): Promise<SentMessage>;
  /** Up to 32 messages, hidden for `visibilityS` whole seconds, at least 1. An absent queue yields none. */
  receive(
    queue: string,
    options: CallOptions & { readonly max: number; readonly visibilityS: number },
  ): Promise<readonly ReceivedMessage[]>;
  /** Hides the message for `visibleInS` from now and keeps its text. `gone`: another receiver has it, or it is deleted. */
  update(
    queue: string,
    id: string,
    popReceipt: string,
    options: CallOptions & { readonly visibleInS: number },
  ): Promise<{ readonly kind: "updated"; readonly popReceipt: string } | { readonly kind: "gone" }>;
  remove(queue: string, id: string, popReceipt: string, options?: CallOptions): Promise<"removed" | "gone">;
  /** Up to 32 visible messages, not hidden by it. An absent queue yields none. */
  peek(queue: string, max: number, options?: CallOptions): Promise<readonly QueueMessage[]>;
  /** Approximate count of messages, hidden ones included. */
  stats(
    queue: string,
    options?: CallOptions,
  ): Promise<
    | { readonly kind: "found"; readonly approximateCount: number; readonly dateMs: number }
    | { readonly kind: "missing" }
  >;
}

/** What a storage service reports about itself, for diagnosis. */
export interface AboutService {
  facts(): Promise<ServiceFacts>;
  /** Whether the account keeps versions of blobs; undefined where that blob is missing or may not be read. */
  versioned(container: string, name: string): Promise<boolean | undefined>;
}

/** All but `server` absent where the identity may not read them. */
export interface ServiceFacts {
  readonly dateMs?: number;
  /** Such as `Azurite-Blob/3.37.0`; empty where it is unknown. */
  readonly server: string;
  /** 0 where deleted blobs are not kept. */
  readonly softDeleteDays?: number;
}
