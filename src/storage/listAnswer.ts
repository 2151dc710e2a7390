import { propertiesOf } from "./azureShapes.ts";
import type { ListedBlob } from "./ports.ts";
import { type XmlReader, xmlReader } from "./xmlReader.ts";

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
