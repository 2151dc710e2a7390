import { AsyncLocalStorage } from "node:async_hooks";
import type { BlobServiceClient } from "@azure/storage-blob";
import type { BlobStore, ListedBlob, ListOptions } from "../ports.ts";
import { azureCalls, dateMsOf, propertiesOf } from "./azureCalls.ts";
import { storageErrorOfCode } from "./storageErrors.ts";
import { type XmlReader, xmlReader } from "./xmlReader.ts";

/**
 * Lets the SDK ask for a list, with its signing, repeats and errors, without reading what comes: its reader takes a
 * quarter millisecond for each name (docs/DECISIONS.md). Our HTTP client below the SDK keeps the text for whoever asked
 * and hands up an empty list. The asker is known by the asynchronous context, so that lists at once do not mix.
 */
export async function withListText<T>(ask: () => Promise<T>): Promise<{ answer: T; text: string }> {
  const kept: { text?: string } = {};
  const answer = await asking.run(kept, ask);
  if (kept.text === undefined) throw new Error("the SDK asked for a list outside of the call that wanted it");
  return { answer, text: kept.text };
}

/** For the HTTP client: what to hand to the SDK for this answer. Only a successful one is kept. */
export function keepListText<T extends { readonly status: number; readonly bodyAsText?: string | null }>(
  answer: T,
): T {
  const kept = asking.getStore();
  if (kept === undefined || answer.status !== 200) return answer;
  kept.text = answer.bodyAsText ?? "";
  return { ...answer, bodyAsText: emptyList };
}

const asking = new AsyncLocalStorage<{ text?: string }>();

const emptyList = `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs/><NextMarker/></EnumerationResults>`;

/** A page of a list: blobs, and folders where a delimiter was given. */
export interface ListAnswer {
  readonly blobs: readonly ListedBlob[];
  readonly folders: readonly string[];
  /** Absent on the last page. */
  readonly cursor?: string;
}

/**
 * Reads the body of a List Blobs answer (learn.microsoft.com/rest/api/storageservices/list-blobs). Elements that we
 * have no use for are passed over, wherever they are; a body that is not such an answer throws.
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
  let md5 = "";
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
        else if (property === "Content-MD5") md5 = reader.text();
      });
    }
  });
  if (name === "") throw new SyntaxError("the answer holds a blob without a name");
  const properties = propertiesOf({ etag, lastModified, contentType }, bytes);
  return { ...properties, ...(md5 === "" ? {} : { md5 }), name, metadata: Object.fromEntries(metadata) };
}

/** A name with characters that XML cannot hold comes percent-encoded, and says so. */
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

/** The lists of the blob port, one request per page: the SDK asks, and the answer is read here. */
export function azureList(service: BlobServiceClient): Pick<BlobStore, "list" | "listFolders"> {
  return {
    list(container, prefix, options = {}) {
      const what = `List Blobs ${container}/${prefix}`;
      return call(what, options, async (abortSignal) => {
        const pages = service
          .getContainerClient(container)
          .listBlobsFlat({ prefix, includeMetadata: options.metadata === true, abortSignal })
          .byPage(pageOf(options));
        const { folders: _, ...page } = await firstOf(pages, what);
        return page;
      });
    },

    listFolders(container, prefix, options = {}) {
      const what = `List Blobs ${container}/${prefix}`;
      return call(what, options, async (abortSignal) => {
        const pages = service
          .getContainerClient(container)
          .listBlobsByHierarchy("/", { prefix, abortSignal })
          .byPage(pageOf(options));
        const { blobs: _, ...page } = await firstOf(pages, what);
        return page;
      });
    },
  };
}

const pageOf = ({ pageSize, cursor }: ListOptions) => ({
  maxPageSize: pageSize ?? 5000,
  ...(cursor === undefined ? {} : { continuationToken: cursor }),
});

type Pages = AsyncIterator<{ readonly date?: Date }>;

async function firstOf(pages: Pages, what: string): Promise<ListAnswer & { readonly dateMs: number }> {
  const { answer, text } = await withListText(() => pages.next());
  return { ...readable(text, what), dateMs: dateMsOf(answer.value) };
}

/** An answer that is cut off or garbled is one to ask for again, like any other that did not come through. */
function readable(text: string, what: string): ListAnswer {
  try {
    return listAnswerOf(text);
  } catch (error) {
    throw storageErrorOfCode("blob", "", 200, `${what}, an answer that cannot be read`, error);
  }
}
