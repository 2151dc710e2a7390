import { AsyncLocalStorage } from "node:async_hooks";
import type { BlobServiceClient } from "@azure/storage-blob";
import type { BlobStore, ListedBlob, ListOptions } from "../engine/storage/ports.ts";
import { storageError } from "../engine/storage/storageErrors.ts";
import { azureCalls, dateMsOf, propertiesOf } from "./azureCalls.ts";
import { type XmlReader, xmlReader } from "./xmlReader.ts";

/**
 * Lets the SDK request a list, with its signing, retries and errors, but not parse the answer: its parser takes a
 * quarter millisecond for each name (docs/DECISIONS.md). Our HTTP client below the SDK keeps the text for the caller
 * and passes an empty list up. The asynchronous context tells concurrent lists apart.
 */
export async function withListText<T>(request: () => Promise<T>): Promise<{ answer: T; text: string }> {
  const kept: { text?: string } = {};
  const answer = await listText.run(kept, request);
  if (kept.text === undefined) throw new Error("the SDK requested a list outside of the call for it");
  return { answer, text: kept.text };
}

/** For the HTTP client: what to pass to the SDK for this answer. Only the text of a successful one is kept. */
export function keepListText<T extends { readonly status: number; readonly bodyAsText?: string | null }>(
  answer: T,
): T {
  const kept = listText.getStore();
  if (kept === undefined || answer.status !== 200) return answer;
  kept.text = answer.bodyAsText ?? "";
  return { ...answer, bodyAsText: emptyList };
}

const listText = new AsyncLocalStorage<{ text?: string }>();

const emptyList = `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs/><NextMarker/></EnumerationResults>`;

/** A page of a list: blobs, and folders where a delimiter was given. */
interface ListAnswer {
  readonly blobs: readonly ListedBlob[];
  readonly folders: readonly string[];
  /** Absent on the last page. */
  readonly cursor?: string;
}

/**
 * Reads the body of a List Blobs answer (learn.microsoft.com/rest/api/storageservices/list-blobs). Unused elements
 * are skipped wherever they are; a body that is not such an answer throws.
 */
export function listAnswerOf(xml: string): ListAnswer {
  const reader = xmlReader(xml);
  const blobs: ListedBlob[] = [];
  const folders: string[] = [];
  let cursor = "";
  let isList = false;
  reader.root("EnumerationResults", (element) => {
    if (element === "NextMarker") cursor = reader.text();
    if (element !== "Blobs") return;
    isList = true;
    reader.children((kind) => {
      if (kind === "Blob") blobs.push(blobOf(reader));
      if (kind === "BlobPrefix") folders.push(blobOf(reader).name);
    });
  });
  if (!isList) throw new SyntaxError("the answer holds no list of blobs");
  return { blobs, folders, ...(cursor === "" ? {} : { cursor }) };
}

function blobOf(reader: XmlReader): ListedBlob {
  let name = "";
  let bytes = 0;
  let etag: string | undefined;
  let lastModified: Date | undefined;
  let contentType: string | undefined;
  const metadata: [string, string][] = [];
  reader.children((part) => {
    if (part === "Name") name = nameOf(reader);
    else if (part === "Metadata") reader.children((key) => metadata.push([key.toLowerCase(), reader.text()]));
    else if (part === "Properties") {
      reader.children((property) => {
        if (property === "Last-Modified") lastModified = dateOf(reader.text());
        else if (property === "Etag") etag = reader.text();
        else if (property === "Content-Length") bytes = bytesOf(reader.text());
        else if (property === "Content-Type") contentType = reader.text();
      });
    }
  });
  if (name === "") throw new SyntaxError("the answer holds a blob without a name");
  const properties = propertiesOf({ etag, lastModified, contentType }, bytes);
  return { ...properties, name, metadata: Object.fromEntries(metadata) };
}

/** A name with characters that XML cannot hold is percent-encoded and marked so. */
function nameOf(reader: XmlReader): string {
  const isEncoded = reader.attribute("Encoded") === "true";
  const name = reader.text();
  return isEncoded ? decodeURIComponent(name) : name;
}

function dateOf(text: string): Date {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) throw new SyntaxError(`the answer holds ${text} for a time`);
  return date;
}

function bytesOf(text: string): number {
  if (!/^\d+$/.test(text)) throw new SyntaxError(`the answer holds ${text} for a length`);
  return Number(text);
}

const call = azureCalls("blob");

/** The lists of the blob port, one request per page: the SDK makes the request, and its answer is parsed here. */
export function azureList(service: BlobServiceClient): Pick<BlobStore, "list" | "listFolders"> {
  return {
    async list(container, prefix, options = {}) {
      const { folders: _, ...page } = await firstPage(`${container}/${prefix}`, options, (abortSignal) =>
        service
          .getContainerClient(container)
          .listBlobsFlat({ prefix, includeMetadata: options.metadata === true, abortSignal }),
      );
      return page;
    },

    async listFolders(container, prefix, options = {}) {
      const { blobs: _, ...page } = await firstPage(`${container}/${prefix}`, options, (abortSignal) =>
        service.getContainerClient(container).listBlobsByHierarchy("/", { prefix, abortSignal }),
      );
      return page;
    },
  };
}

type PageSettings = { readonly maxPageSize: number; readonly continuationToken?: string };
type Pages = { byPage(settings: PageSettings): AsyncIterator<{ readonly date?: Date }> };

function firstPage(
  where: string,
  { pageSize: maxPageSize = 5000, cursor, signal }: ListOptions,
  request: (abortSignal: AbortSignal) => Pages,
): Promise<ListAnswer & { readonly dateMs: number }> {
  const what = `List Blobs ${where}`;
  return call(what, { signal }, async (abortSignal) => {
    const pages = request(abortSignal).byPage({
      maxPageSize,
      ...(cursor === undefined ? {} : { continuationToken: cursor }),
    });
    const { answer, text } = await withListText(() => pages.next());
    return { ...readable(text, what), dateMs: dateMsOf(answer.value) };
  });
}

/** A truncated or garbled answer is `busy`, like no answer: a retry helps. */
function readable(text: string, what: string): ListAnswer {
  try {
    return listAnswerOf(text);
  } catch (error) {
    const detail = `${what}, an answer that cannot be read`;
    throw storageError({ service: "blob", status: 200, detail, cause: error });
  }
}
