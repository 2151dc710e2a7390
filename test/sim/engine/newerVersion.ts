import { stoppingPlanVersion } from "../../../src/engine/model/run.ts";
import type { BlobStore, Storage } from "../../../src/engine/storage/ports.ts";
import type { QueueStore } from "../../../src/engine/storage/queuePort.ts";

/**
 * Makes a process one of the next version: whatever it writes carries the next wire version and a field that nobody
 * knows yet, and it reads both versions. Between the process and storage, so the code itself is the same.
 */
export function newerVersion(storage: Storage): Storage {
  const { blobs, queues } = storage;
  const newBlobs: Partial<BlobStore> = {
    create: (container, name, body, write) =>
      blobs.create(container, name, lift(body), { ...write, ...liftMetadata(write) }),
    replace: (container, name, body, write) =>
      blobs.replace(container, name, lift(body), { ...write, ...liftMetadata(write) }),
    setMetadata: (container, name, metadata, options) =>
      blobs.setMetadata(container, name, versioned(metadata, "1", "2"), options),
    async read(container, name, options) {
      const found = await blobs.read(container, name, options);
      return found.kind === "found" ? { ...found, body: lower(found.body) } : found;
    },
    async head(container, name, options) {
      const found = await blobs.head(container, name, options);
      if (found.kind === "missing") return found;
      const metadata = versioned(found.properties.metadata, "2", "1");
      return { ...found, properties: { ...found.properties, metadata } };
    },
    async list(container, prefix, options) {
      const page = await blobs.list(container, prefix, options);
      const all = page.blobs.map((blob) => ({ ...blob, metadata: versioned(blob.metadata, "2", "1") }));
      return { ...page, blobs: all };
    },
  };
  const newQueues: Partial<QueueStore> = {
    send: (queue, text, options) => queues.send(queue, liftText(text), options),
    async receive(queue, options) {
      const messages = await queues.receive(queue, options);
      return messages.map((one) => ({ ...one, text: lowerText(one.text) }));
    },
  };
  return { ...storage, blobs: over(blobs, newBlobs), queues: over(queues, newQueues) };
}

const over = <T extends object>(base: T, changed: Partial<T>): T =>
  new Proxy(base, { get: (target, key) => Reflect.get(key in changed ? changed : target, key) as unknown });

type Metadata = Readonly<Record<string, string>>;

const versioned = (metadata: Metadata, from: string, to: string): Metadata =>
  metadata["v"] === from ? { ...metadata, v: to } : metadata;

const liftMetadata = (write: { readonly metadata?: Metadata } | undefined) =>
  write?.metadata === undefined ? {} : { metadata: versioned(write.metadata, "1", "2") };

const lift = <T extends Uint8Array | string>(body: T): T | string =>
  typeof body === "string" ? liftText(body) : body;

const lower = (body: Uint8Array): Uint8Array => {
  if (body[0] !== "{".charCodeAt(0)) return body;
  const text = Buffer.from(body).toString();
  const lowered = lowerText(text);
  return lowered === text ? body : Buffer.from(lowered);
};

/** Beyond what this code reads: it knows one version of most documents, and several of a plan, from 2 on. */
const next = (version: number): number => (version === 1 ? 2 : version + stoppingPlanVersion);
const before = (version: number): number => (version === 2 ? 1 : version - stoppingPlanVersion);

/** Documents and messages are objects with `v`; anything else is left as it is. */
function liftText(text: string): string {
  const value = objectIn(text);
  const version = value?.["v"];
  if (typeof version !== "number" || "sinceNextVersion" in (value ?? {})) return text;
  return JSON.stringify({ ...value, v: next(version), sinceNextVersion: "unknown before" });
}

function lowerText(text: string): string {
  const value = objectIn(text);
  if (value === undefined || !("sinceNextVersion" in value)) return text;
  const { sinceNextVersion: _known, ...rest } = value;
  return JSON.stringify({ ...rest, v: before(Number(rest["v"])) });
}

function objectIn(text: string): Record<string, unknown> | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
