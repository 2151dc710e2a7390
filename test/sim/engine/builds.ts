import type { BlobStore, BlobWrite, Storage } from "../../../src/engine/storage/ports.ts";
import type { QueueStore } from "../../../src/engine/storage/queuePort.ts";

/**
 * A process of another release than this one, whose code is the same: between it and storage versions 1 and 2 change places. Storage
 * holds the true versions, of which 1 is that of this release, so each of the two takes what the other writes for that of a newer one.
 *
 * Not translated: the leader record and the summaries of ended runs.
 */
export function otherBuild(storage: Storage): Storage {
  const { blobs, queues } = storage;
  const text = <T extends Uint8Array | string>(body: T): T | string =>
    typeof body === "string" ? swapped(body) : body;
  const write = <T extends BlobWrite>(given: T): T =>
    given.metadata === undefined ? given : { ...given, metadata: inMetadata(given.metadata) };
  const newBlobs: Partial<BlobStore> = {
    create: (container, name, body, given) =>
      blobs.create(container, name, text(body), given && write(given)),
    replace: (container, name, body, given) => blobs.replace(container, name, text(body), write(given)),
    setMetadata: (container, name, metadata, options) =>
      blobs.setMetadata(container, name, inMetadata(metadata), options),
    async read(container, name, options) {
      const found = await blobs.read(container, name, options);
      return found.kind === "found" ? { ...found, body: inBytes(found.body) } : found;
    },
    async head(container, name, options) {
      const found = await blobs.head(container, name, options);
      if (found.kind === "missing") return found;
      const metadata = inMetadata(found.properties.metadata);
      return { ...found, properties: { ...found.properties, metadata } };
    },
    async list(container, prefix, options) {
      const page = await blobs.list(container, prefix, options);
      const all = page.blobs.map((blob) => ({ ...blob, metadata: inMetadata(blob.metadata) }));
      return { ...page, blobs: all };
    },
  };
  const newQueues: Partial<QueueStore> = {
    send: (queue, body, options) => queues.send(queue, swapped(body), options),
    async receive(queue, options) {
      const messages = await queues.receive(queue, options);
      return messages.map((one) => ({ ...one, text: swapped(one.text) }));
    },
    async peek(queue, max, options) {
      const messages = await queues.peek(queue, max, options);
      return messages.map((one) => ({ ...one, text: swapped(one.text) }));
    },
  };
  return { ...storage, blobs: over(blobs, newBlobs), queues: over(queues, newQueues) };
}

const over = <T extends object>(base: T, changed: Partial<T>): T =>
  new Proxy(base, { get: (target, key) => Reflect.get(key in changed ? changed : target, key) as unknown });

type Metadata = Readonly<Record<string, string>>;

function inMetadata(metadata: Metadata): Metadata {
  const version = swap(Number(metadata["v"]));
  // The leader record is left as it is.
  return version === undefined || "record" in metadata ? metadata : { ...metadata, v: String(version) };
}

/** Documents and messages are objects with `v`; anything else is left as it is. */
function swapped(text: string): string {
  const fields = objectIn(text);
  const version = swap(fields?.["v"]);
  return version === undefined ? text : JSON.stringify({ ...fields, v: version });
}

const swap = (version: unknown): number | undefined => (version === 1 ? 2 : version === 2 ? 1 : undefined);

function inBytes(body: Uint8Array): Uint8Array {
  if (body[0] !== "{".charCodeAt(0)) return body;
  const text = Buffer.from(body).toString();
  const translated = swapped(text);
  return translated === text ? body : Buffer.from(translated);
}

/** A document as the build that wrote it reads it: messages name that one by its hash. */
export const asRead = (body: Uint8Array | string): string => {
  const text = Buffer.from(body).toString();
  return objectIn(text)?.["v"] === 2 ? swapped(text) : text;
};

function objectIn(text: string): Record<string, unknown> | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
