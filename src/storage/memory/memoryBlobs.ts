import type { StorageError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import type { BlobStore, FolderPage, ListedBlob, ListPage } from "../ports.ts";
import { throwIfAborted } from "../system.ts";
import { blocksOf } from "../uploadBlocks.ts";
import {
  checkedMetadata,
  checkLease,
  checkResourceName,
  containerOf,
  contentOf,
  dropBlob,
  type MemoryBlob,
  type MemoryContainers,
  type MemoryContent,
  type MemoryService,
  newContainer,
  propertiesOf,
  putBlob,
  refusalOfLease,
  refuse,
} from "./memoryAccount.ts";
import type { SortedList } from "./sortedList.ts";

/**
 * One page of a listing by `/`: below `prefix`, a name with a further slash stands for its folder, any other for
 * itself, and both count for the page, as with the service. The cursor is the item that the next page begins with.
 */
export function folderPage(
  names: SortedList<string>,
  prefix: string,
  cursor: string | undefined,
  pageSize: number,
): { readonly items: readonly string[]; readonly cursor?: string } {
  const items: string[] = [];
  let isBefore = (name: string) => name < (cursor ?? prefix);
  for (;;) {
    const [name] = names.from(isBefore);
    if (name === undefined || !name.startsWith(prefix)) return { items };
    const slash = name.indexOf("/", prefix.length);
    const item = slash < 0 ? name : name.slice(0, slash + 1);
    if (items.length === pageSize) return { items, cursor: item };
    items.push(item);
    // A folder is passed over whole, however many blobs it has.
    isBefore = (other) => other <= item || (slash >= 0 && other.startsWith(item));
  }
}

const pieceBytes = 64 * 1024;

/** The asked range of a body in pieces, as a download would bring it; the signal ends it between two pieces. */
export function streamOf(
  body: Uint8Array,
  range: { readonly offset?: number; readonly count?: number; readonly signal?: AbortSignal | undefined },
): AsyncIterable<Uint8Array> {
  const offset = range.offset ?? 0;
  const ranged = offset > 0 || range.count !== undefined;
  if (ranged && offset >= body.byteLength) throw refuse(416, "InvalidRange");
  const wanted = body.slice(offset, range.count === undefined ? undefined : offset + range.count);
  return pieces(wanted, range.signal);
}

async function* pieces(bytes: Uint8Array, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += pieceBytes) {
    throwIfAborted(signal);
    yield bytes.slice(at, at + pieceBytes);
  }
}

/**
 * The twin's blobs. Each call takes effect at once, when it is made, and only its answer is a promise; but an upload
 * does so when its body has ended.
 */
export function memoryBlobs(service: MemoryService, containers: MemoryContainers): BlobStore {
  const find = (container: string, name: string): MemoryBlob | undefined =>
    containerOf(containers, container).blobs.get(name);
  const put = (container: string, name: string, content: MemoryContent) => {
    const { etag } = putBlob(service, containerOf(containers, container), name, content);
    return { etag, dateMs: service.dateMs() };
  };

  return {
    async ensureContainer(container, options) {
      service.begin("write", options);
      checkResourceName(container);
      if (containers.has(container)) return "existed";
      containers.set(container, newContainer());
      return "created";
    },

    async create(container, name, body, write) {
      service.begin("write", write);
      const content = contentOf(body, write);
      if (find(container, name) !== undefined) return { kind: "existed" };
      checkBlobName(name);
      return { kind: "created", ...put(container, name, content) };
    },

    async replace(container, name, body, write) {
      service.begin("write", write);
      const content = contentOf(body, write);
      const blob = find(container, name);
      if (blob === undefined || blob.etag !== write.ifMatch) return { kind: "conflict" };
      checkLease(service, blob);
      return { kind: "replaced", ...put(container, name, content) };
    },

    async upload(container, name, body, { contentType, metadata, ifMatch, signal } = {}) {
      const blocks: Uint8Array[] = [];
      for await (const block of blocksOf(body)) blocks.push(block);
      const calls = blocks.length > 1 ? blocks.length + 1 : 1;
      for (let call = 0; call < calls; call += 1) service.begin("write", { signal });
      const type = contentType === undefined ? {} : { contentType };
      const content = contentOf(Buffer.concat(blocks), { ...type, metadata: metadata?.() ?? {} });
      const blob = find(container, name);
      if (ifMatch === undefined && blob !== undefined) return { kind: "existed" };
      if (ifMatch !== undefined && blob?.etag !== ifMatch) return { kind: "conflict" };
      if (blob !== undefined) checkLease(service, blob);
      checkBlobName(name);
      return { kind: ifMatch === undefined ? "created" : "replaced", ...put(container, name, content) };
    },

    async read(container, name, options) {
      service.begin("read", options);
      const blob = find(container, name);
      if (blob === undefined) return { kind: "missing" };
      const body = blob.body.slice();
      return { kind: "found", dateMs: service.dateMs(), properties: propertiesOf(blob), body };
    },

    async stream(container, name, options = {}) {
      service.begin("read", options);
      const blob = find(container, name);
      if (blob === undefined) return { kind: "missing" };
      if (options.ifMatch !== undefined && options.ifMatch !== blob.etag) return { kind: "conflict" };
      const body = streamOf(blob.body, options);
      return { kind: "found", dateMs: service.dateMs(), properties: propertiesOf(blob), body };
    },

    async head(container, name, options) {
      service.begin("other", options);
      const blob = find(container, name);
      if (blob === undefined) return { kind: "missing" };
      return { kind: "found", dateMs: service.dateMs(), properties: propertiesOf(blob) };
    },

    async setMetadata(container, name, metadata, options) {
      service.begin("other", options);
      const checked = checkedMetadata(metadata);
      const blob = find(container, name);
      if (blob === undefined || blob.etag !== options.ifMatch) return { kind: "conflict" };
      checkLease(service, blob);
      return { kind: "replaced", ...put(container, name, { ...blob, metadata: checked }) };
    },

    async list(container, prefix, options = {}): Promise<ListPage> {
      service.begin("list", options);
      const { blobs, names } = containerOf(containers, container);
      const pageSize = checkedPageSize(options.pageSize);
      const from = options.cursor ?? prefix;
      const listed: ListedBlob[] = [];
      const dateMs = service.dateMs();
      for (const name of names.from((other) => other < from)) {
        if (!name.startsWith(prefix)) break;
        if (listed.length === pageSize) return { blobs: listed, cursor: name, dateMs };
        const { etag, lastModifiedMs, body, contentType, metadata: all } = blobs.get(name) as MemoryBlob;
        const metadata = options.metadata === true ? all : {};
        listed.push({ name, etag, lastModifiedMs, bytes: body.byteLength, contentType, metadata });
      }
      return { blobs: listed, dateMs };
    },

    async listFolders(container, prefix, options = {}): Promise<FolderPage> {
      service.begin("list", options);
      const { names } = containerOf(containers, container);
      const { items, cursor } = folderPage(names, prefix, options.cursor, checkedPageSize(options.pageSize));
      const folders = items.filter((item) => item.endsWith("/"));
      const dateMs = service.dateMs();
      return cursor === undefined ? { folders, dateMs } : { folders, cursor, dateMs };
    },

    async remove(container, name, options) {
      service.begin("delete", options);
      const blob = find(container, name);
      if (options?.ifMatch !== undefined && options.ifMatch !== blob?.etag) return "conflict";
      if (blob === undefined) return "missing";
      checkLease(service, blob);
      dropBlob(containerOf(containers, container), name);
      return "removed";
    },

    async removeMany(container, names, options) {
      for (let at = 0; at < names.length; at += limits.blobBatchMax) service.begin("other", options);
      for (const _ of names) service.begin("delete", options);
      if (names.length === 0) return;
      const home = containerOf(containers, container);
      let refusal: StorageError | undefined;
      for (const name of names) {
        const blob = home.blobs.get(name);
        const leased = blob === undefined ? undefined : refusalOfLease(service, blob);
        refusal ??= leased;
        if (leased === undefined) dropBlob(home, name);
      }
      if (refusal !== undefined) throw refusal;
    },
  };
}

function checkedPageSize(pageSize = 5000): number {
  if (pageSize < 1 || pageSize > 5000) throw refuse(400, "OutOfRangeQueryParameterValue", "pageSize");
  return pageSize;
}

function checkBlobName(name: string): void {
  if (name.length < 1 || name.length > 1024) throw refuse(400, "OutOfRangeInput", "blob name");
}
