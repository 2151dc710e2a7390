import { checkBytes } from "../../model/decode.ts";
import type { StorageError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import type { BlobStore, FolderPage, ListedBlob, ListPage } from "../ports.ts";
import { throwIfAborted } from "../system.ts";
import { blocksOf } from "../uploadBlocks.ts";
import {
  checkedMetadata,
  contentOf,
  type MemoryAccount,
  type MemoryBlob,
  type MemoryContent,
  propertiesOf,
  refuse,
} from "./memoryAccount.ts";
import type { SortedList } from "./sortedList.ts";

/**
 * One page of a list by `/`: below `prefix`, a name with a further slash stands for its folder, any other for itself,
 * and both count for the page, as with the service. The cursor is the first item of the next page.
 */
function folderPage(
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
    // A folder is skipped whole, however many blobs it has.
    isBefore = (other) => other <= item || (slash >= 0 && other.startsWith(item));
  }
}

const pieceBytes = 64 * 1024;

/** The range of a body in pieces, as a download would return it; the signal ends it between two pieces. */
function streamOf(
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

/** The in-memory storage's blobs. Each call takes effect when it is made, before its promise resolves; an upload when its body ends. */
export const memoryBlobs = (account: MemoryAccount): BlobStore => ({
  async ensureContainer(container, options) {
    account.begin("write", options);
    return account.createContainer(container);
  },
  ...writesOf(account),
  ...readsOf(account),
  ...listsOf(account),
  ...removalsOf(account),
});

function writesOf(account: MemoryAccount): Pick<BlobStore, "create" | "replace" | "upload" | "setMetadata"> {
  const put = (container: string, name: string, content: MemoryContent) => {
    const { etag } = account.put(container, name, content);
    return { etag, dateMs: account.dateMs() };
  };
  return {
    async create(container, name, body, write) {
      account.begin("write", write);
      const content = contentOf(body, write);
      if (account.find(container, name) !== undefined) return { kind: "existed" };
      checkBlobName(name);
      return { kind: "created", ...put(container, name, content) };
    },

    async replace(container, name, body, write) {
      account.begin("write", write);
      const content = contentOf(body, write);
      const blob = account.find(container, name);
      if (blob === undefined || blob.etag !== write.ifMatch) return { kind: "conflict" };
      account.checkLease(blob);
      return { kind: "replaced", ...put(container, name, content) };
    },

    async upload(container, name, body, { contentType, metadata, ifMatch, signal } = {}) {
      const blocks: Uint8Array[] = [];
      for await (const block of blocksOf(body)) blocks.push(block);
      const calls = blocks.length > 1 ? blocks.length + 1 : 1;
      for (let call = 0; call < calls; call += 1) account.begin("write", { signal });
      const type = contentType === undefined ? {} : { contentType };
      const content = contentOf(Buffer.concat(blocks), { ...type, metadata: metadata?.() ?? {} });
      const blob = account.find(container, name);
      if (ifMatch === undefined && blob !== undefined) return { kind: "existed" };
      if (ifMatch !== undefined && blob?.etag !== ifMatch) return { kind: "conflict" };
      if (blob !== undefined) account.checkLease(blob);
      checkBlobName(name);
      return { kind: ifMatch === undefined ? "created" : "replaced", ...put(container, name, content) };
    },

    async setMetadata(container, name, metadata, options) {
      account.begin("other", options);
      const checked = checkedMetadata(metadata);
      const blob = account.find(container, name);
      if (blob === undefined || blob.etag !== options.ifMatch) return { kind: "conflict" };
      account.checkLease(blob);
      return { kind: "replaced", ...put(container, name, { ...blob, metadata: checked }) };
    },
  };
}

function readsOf(account: MemoryAccount): Pick<BlobStore, "read" | "stream" | "head"> {
  const foundOf = (blob: MemoryBlob) => ({
    kind: "found" as const,
    dateMs: account.dateMs(),
    properties: propertiesOf(blob),
  });
  return {
    async read(container, name, options) {
      account.begin("read", options);
      const blob = account.find(container, name);
      if (blob === undefined) return { kind: "missing" };
      checkBytes(blob.body.length, name);
      return { ...foundOf(blob), body: blob.body.slice() };
    },

    async stream(container, name, options = {}) {
      account.begin("read", options);
      const blob = account.find(container, name);
      if (blob === undefined) return { kind: "missing" };
      if (options.ifMatch !== undefined && options.ifMatch !== blob.etag) return { kind: "conflict" };
      return { ...foundOf(blob), body: streamOf(blob.body, options) };
    },

    async head(container, name, options) {
      account.begin("other", options);
      const blob = account.find(container, name);
      return blob === undefined ? { kind: "missing" } : foundOf(blob);
    },
  };
}

function listsOf(account: MemoryAccount): Pick<BlobStore, "list" | "listFolders"> {
  return {
    async list(container, prefix, options = {}): Promise<ListPage> {
      account.begin("list", options);
      const { blobs, names } = account.container(container);
      const pageSize = checkedPageSize(options.pageSize);
      const from = options.cursor ?? prefix;
      const listed: ListedBlob[] = [];
      const dateMs = account.dateMs();
      for (const name of names.from((other) => other < from)) {
        if (!name.startsWith(prefix)) break;
        if (listed.length === pageSize) return { blobs: listed, cursor: name, dateMs };
        const properties = propertiesOf(blobs.get(name) as MemoryBlob);
        const metadata = options.metadata === true ? properties.metadata : {};
        listed.push({ ...properties, name, metadata });
      }
      return { blobs: listed, dateMs };
    },

    async listFolders(container, prefix, options = {}): Promise<FolderPage> {
      account.begin("list", options);
      const { names } = account.container(container);
      const { items, cursor } = folderPage(names, prefix, options.cursor, checkedPageSize(options.pageSize));
      const folders = items.filter((item) => item.endsWith("/"));
      const dateMs = account.dateMs();
      return cursor === undefined ? { folders, dateMs } : { folders, cursor, dateMs };
    },
  };
}

function removalsOf(account: MemoryAccount): Pick<BlobStore, "remove" | "removeMany"> {
  return {
    async remove(container, name, options) {
      account.begin("delete", options);
      const blob = account.find(container, name);
      if (options?.ifMatch !== undefined && options.ifMatch !== blob?.etag) return "conflict";
      if (blob === undefined) return "missing";
      account.checkLease(blob);
      account.drop(container, name);
      return "removed";
    },

    async removeMany(container, names, options) {
      for (let at = 0; at < names.length; at += limits.blobBatchMax) account.begin("other", options);
      for (const _ of names) account.begin("delete", options);
      let refusal: StorageError | undefined;
      for (const name of names) {
        const blob = account.find(container, name);
        const leased = blob === undefined ? undefined : account.refusalOfLease(blob);
        refusal ??= leased;
        if (leased === undefined) account.drop(container, name);
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
