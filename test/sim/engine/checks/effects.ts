import type { WorkMessage } from "../../../../src/engine/model/message.ts";
import type { BlobStore, BlobWrite, Storage } from "../../../../src/engine/storage/ports.ts";
import type { QueueStore } from "../../../../src/engine/storage/queuePort.ts";

/** One thing that storage accepted. */
export type Effect =
  | {
      /** `marked`: the metadata of a blob was replaced. */
      readonly kind: "created" | "replaced" | "marked";
      readonly container: string;
      readonly name: string;
      readonly body: Uint8Array | string;
      readonly metadata: Readonly<Record<string, string>>;
      readonly contentType: string;
      readonly etag: string;
    }
  | { readonly kind: "removed"; readonly container: string; readonly name: string }
  /** `message`: undefined for a wake. */
  | {
      readonly kind: "sent";
      readonly queue: string;
      readonly text: string;
      readonly message: WorkMessage | undefined;
    };

export type Written = Extract<Effect, { readonly kind: "created" | "replaced" | "marked" }>;

/**
 * Tells of every effect at the moment when storage accepts it: there nobody's opinion of who leads counts. `isThere`
 * says whether a blob existed, since a batch of deletes does not tell.
 */
export function watchStorage(
  storage: Storage,
  tell: (effect: Effect) => void,
  isThere: (container: string, name: string) => boolean,
): Storage {
  const { blobs, queues } = storage;
  const written = (
    kind: Written["kind"],
    container: string,
    name: string,
    content: { readonly body?: Uint8Array | string; readonly write?: BlobWrite | undefined },
    etag: string,
  ): void => {
    const { body = "", write } = content;
    const { metadata = {}, contentType = "" } = write ?? {};
    tell({ kind, container, name, body, metadata, contentType, etag });
  };
  const watchedBlobs: BlobStore = {
    ...blobs,
    async create(container, name, body, write) {
      const reply = await blobs.create(container, name, body, write);
      if (reply.kind === "created") written("created", container, name, { body, write }, reply.etag);
      return reply;
    },
    async replace(container, name, body, write) {
      const reply = await blobs.replace(container, name, body, write);
      if (reply.kind === "replaced") written("replaced", container, name, { body, write }, reply.etag);
      return reply;
    },
    async upload(container, name, body, write) {
      const pieces: Uint8Array[] = [];
      async function* kept() {
        for await (const piece of body) {
          pieces.push(piece);
          yield piece;
        }
      }
      const reply = await blobs.upload(container, name, kept(), write);
      const { contentType = "" } = write ?? {};
      const all = { body: Buffer.concat(pieces), write: { contentType } };
      if (reply.kind === "created") written("created", container, name, all, reply.etag);
      return reply;
    },
    async setMetadata(container, name, metadata, options) {
      const reply = await blobs.setMetadata(container, name, metadata, options);
      if (reply.kind === "replaced") written("marked", container, name, { write: { metadata } }, reply.etag);
      return reply;
    },
    async remove(container, name, options) {
      const reply = await blobs.remove(container, name, options);
      if (reply === "removed") tell({ kind: "removed", container, name });
      return reply;
    },
    async removeMany(container, names, options) {
      const there = names.filter((name) => isThere(container, name));
      await blobs.removeMany(container, names, options);
      for (const name of there) tell({ kind: "removed", container, name });
    },
  };
  const watchedQueues: QueueStore = {
    ...queues,
    async send(queue, text, options) {
      const reply = await queues.send(queue, text, options);
      tell({ kind: "sent", queue, text, message: workIn(text) });
      return reply;
    },
  };
  return { ...storage, blobs: watchedBlobs, queues: watchedQueues };
}

/** What a message asks for, of whatever wire version; undefined for a wake and a completion event. */
export function workIn(text: string): WorkMessage | undefined {
  const message = JSON.parse(text) as WorkMessage | { readonly kind: "wake" } | { readonly kind?: never };
  return message.kind === "wake" || message.kind === undefined ? undefined : message;
}
