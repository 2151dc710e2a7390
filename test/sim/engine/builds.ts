import type { BlobStore, BlobWrite, Storage } from "../../../src/engine/storage/ports.ts";
import type { QueueStore } from "../../../src/engine/storage/queuePort.ts";

/**
 * Processes of other releases than this one, whose code is the same: what a build reads and writes is translated between it
 * and storage. Storage holds the true versions, of which 1 is that of this release. What a build does not read looks to its code as
 * it would there: newer, or older, than what it knows.
 *
 * Not translated: the leader record and the summaries of ended runs.
 */
interface Build {
  readonly writes: number;
  /** Ascending. */
  readonly reads: readonly number[];
}

/** `reading` is the release between the other two: it reads what the next one writes. `later` has no reader of 1 any more. */
const builds = {
  reading: { writes: 1, reads: [1, 2] },
  next: { writes: 2, reads: [1, 2] },
  later: { writes: 3, reads: [2, 3] },
} as const satisfies Record<string, Build>;

export const readingBuild = (storage: Storage): Storage => asBuild(builds.reading, storage);
export const newerVersion = (storage: Storage): Storage => asBuild(builds.next, storage);
export const laterBuild = (storage: Storage): Storage => asBuild(builds.later, storage);

/** A document as each build that reads it gets it: messages name that one by its hash. */
export const asRead = (body: Uint8Array | string): string =>
  inText(Buffer.from(body).toString(), translations(builds.next).fromStorage);

function asBuild(build: Build, storage: Storage): Storage {
  const { blobs, queues } = storage;
  const { toStorage, fromStorage } = translations(build);
  const text = <T extends Uint8Array | string>(body: T): T | string =>
    typeof body === "string" ? inText(body, toStorage) : body;
  const write = <T extends BlobWrite>(given: T): T =>
    given.metadata === undefined ? given : { ...given, metadata: inMetadata(given.metadata, toStorage) };
  const newBlobs: Partial<BlobStore> = {
    create: (container, name, body, given) =>
      blobs.create(container, name, text(body), given && write(given)),
    replace: (container, name, body, given) =>
      blobs.replace(container, name, body === "" ? body : tellingReads(build, text(body)), write(given)),
    setMetadata: (container, name, metadata, options) => {
      const written = inMetadata(metadata, toStorage);
      const told = written["v"] === undefined ? written : { ...written, reads: build.reads.join() };
      return blobs.setMetadata(container, name, told, options);
    },
    async read(container, name, options) {
      const found = await blobs.read(container, name, options);
      return found.kind === "found" ? { ...found, body: inBytes(found.body, fromStorage) } : found;
    },
    async head(container, name, options) {
      const found = await blobs.head(container, name, options);
      if (found.kind === "missing") return found;
      const metadata = inMetadata(found.properties.metadata, fromStorage);
      return { ...found, properties: { ...found.properties, metadata } };
    },
    async list(container, prefix, options) {
      const page = await blobs.list(container, prefix, options);
      const all = page.blobs.map((blob) => ({ ...blob, metadata: inMetadata(blob.metadata, fromStorage) }));
      return { ...page, blobs: all };
    },
  };
  const newQueues: Partial<QueueStore> = {
    send: (queue, body, options) => queues.send(queue, inText(body, toStorage), options),
    async receive(queue, options) {
      const messages = await queues.receive(queue, options);
      return messages.map((one) => ({ ...one, text: inText(one.text, fromStorage) }));
    },
    async peek(queue, max, options) {
      const messages = await queues.peek(queue, max, options);
      return messages.map((one) => ({ ...one, text: inText(one.text, fromStorage) }));
    },
  };
  return { ...storage, blobs: over(blobs, newBlobs), queues: over(queues, newQueues) };
}

const over = <T extends object>(base: T, changed: Partial<T>): T =>
  new Proxy(base, { get: (target, key) => Reflect.get(key in changed ? changed : target, key) as unknown });

type Fields = Readonly<Record<string, unknown>>;
type Translation = (fields: Fields, version: number) => Fields;

/** What the code calls 0 is put back as what it was, and what a release beyond this one writes has a field that nobody knows yet. */
function translations({ writes, reads }: Build): { toStorage: Translation; fromStorage: Translation } {
  return {
    toStorage(fields, version) {
      const { wasversion, ...rest } = fields;
      if (version === 0) return { ...rest, v: Number(wasversion) };
      if (version !== 1 || writes === 1) return fields;
      return { ...fields, v: writes, sincenextversion: "unknown before" };
    },
    fromStorage(fields, version) {
      if (version < (reads[0] as number)) return { ...fields, v: 0, wasversion: version };
      if (version === 1 || !reads.includes(version)) return fields;
      const { sincenextversion: _known, ...rest } = fields;
      return { ...rest, v: 1 };
    },
  };
}

/** For the checker that nobody writes over what it cannot read. Of the documents that are ever replaced, none is named by its hash. */
function tellingReads<T extends Uint8Array | string>({ reads }: Build, body: T): T | string {
  const fields = typeof body === "string" ? objectIn(body) : undefined;
  return fields?.["v"] === undefined ? body : JSON.stringify({ ...fields, reads: reads.join() });
}

type Metadata = Readonly<Record<string, string>>;

function inMetadata(metadata: Metadata, translate: Translation): Metadata {
  const version = Number(metadata["v"]);
  // The leader record has a version of its own.
  if (!Number.isInteger(version) || "record" in metadata) return metadata;
  const fields = translate(metadata, version);
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, String(value)]));
}

/** Documents and messages are objects with `v`; anything else is left as it is. */
function inText(text: string, translate: Translation): string {
  const fields = objectIn(text);
  const version = fields?.["v"];
  if (fields === undefined || typeof version !== "number") return text;
  const translated = translate(fields, version);
  return translated === fields ? text : JSON.stringify(translated);
}

function inBytes(body: Uint8Array, translate: Translation): Uint8Array {
  if (body[0] !== "{".charCodeAt(0)) return body;
  const text = Buffer.from(body).toString();
  const translated = inText(text, translate);
  return translated === text ? body : Buffer.from(translated);
}

function objectIn(text: string): Record<string, unknown> | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
