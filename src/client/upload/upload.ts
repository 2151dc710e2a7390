import type { ListedBlob } from "../../storage/ports.ts";
import { uploadBlockBytes } from "../../storage/uploadBlocks.ts";
import { boundedMap } from "../boundedMap.ts";
import type { Client } from "../client.ts";
import { blobsUnder, isSame } from "./blobsThere.ts";
import { fileBody } from "./fileBody.ts";
import { findLocalFiles, type LocalFile, otherContent } from "./localFiles.ts";

export interface UploadRequest {
  /** Where relative paths begin. */
  readonly folder: string;
  readonly paths: readonly string[];
  /**
   * Folder in the container of inputs, whose name may stand before it as in a source; by default the name of the one
   * folder, or none for a single file.
   */
  readonly to?: string | undefined;
  /** Overwrites what is there with other content, which is refused otherwise. */
  readonly replace?: boolean | undefined;
  readonly signal?: AbortSignal;
}

export interface UploadProgress {
  readonly files: number;
  readonly filesDone: number;
  readonly bytes: number;
  readonly bytesDone: number;
}

export interface Uploaded {
  /** `container/prefix` of the files, as calculations take it. */
  readonly source: string;
  readonly files: number;
  readonly bytes: number;
  /** Of the files: written, of them over other content, and there before with the same. */
  readonly written: number;
  readonly replaced: number;
  readonly same: number;
  /** Links and special files below the folders. */
  readonly leftOut: number;
}

/** Each large file holds up to 20 MB; a small one takes little more than the time of a call. */
const largeAtOnce = 2;
const smallAtOnce = 12;

/**
 * Uploads files and folders to the container of inputs. What is there with the same content stays untouched, so a
 * broken-off upload goes on where it was. Nothing is written where anything would be refused; a file that changes while
 * it is read is not written. Throws `InputError`.
 */
export async function upload(
  client: Client,
  request: UploadRequest,
  onProgress: (progress: UploadProgress) => void = () => {},
): Promise<Uploaded> {
  const container = `${client.names.inputs}/`;
  const to = request.to?.startsWith(container) ? request.to.slice(container.length) : request.to;
  const { files, prefix, leftOut } = await findLocalFiles(request.folder, request.paths, to);
  const there = await blobsUnder(client, prefix, request.signal);
  const differing = new Map<string, ListedBlob>();
  const same = new Set<string>();
  await boundedMap(files, largeAtOnce, async (local) => {
    const blob = there.get(local.name);
    if (blob === undefined) return;
    if (await isSame(client, local, blob, request.signal)) same.add(local.name);
    else differing.set(local.name, blob);
  });
  if (differing.size > 0 && request.replace !== true) throw otherContent([...differing.keys()].sort());

  const bytes = files.reduce((sum, one) => sum + one.bytes, 0);
  const rest = files.filter(({ name }) => !same.has(name));
  let bytesDone = bytes - rest.reduce((sum, one) => sum + one.bytes, 0);
  let filesDone = same.size;
  const tell = (more: number): void => {
    bytesDone += more;
    onProgress({ files: files.length, filesDone, bytes, bytesDone });
  };
  tell(0);
  // The first failure stops the others too.
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, ...(request.signal === undefined ? [] : [request.signal])]);
  try {
    const isLarge = (local: LocalFile): boolean => local.bytes > uploadBlockBytes;
    const writeOne = async (local: LocalFile): Promise<void> => {
      await write(client, local, { ifMatch: differing.get(local.name)?.etag, signal }, tell);
      filesDone += 1;
      tell(0);
    };
    await boundedMap(rest.filter(isLarge), largeAtOnce, writeOne);
    await boundedMap(
      rest.filter((local) => !isLarge(local)),
      smallAtOnce,
      writeOne,
    );
  } catch (error) {
    stop.abort();
    throw error;
  }
  const counts = { written: rest.length, replaced: differing.size, same: same.size, leftOut };
  return { source: `${client.names.inputs}/${prefix}`, files: files.length, bytes, ...counts };
}

async function write(
  { storage, names }: Client,
  local: LocalFile,
  options: { readonly ifMatch: string | undefined; readonly signal: AbortSignal },
  onBytes: (bytes: number) => void,
): Promise<void> {
  const body = fileBody(local, onBytes);
  const { kind } = await storage.blobs.upload(names.inputs, local.name, body.pieces, {
    ...options,
    metadata: () => ({ sha256: body.sha256() }),
  });
  if (kind === "created" || kind === "replaced") return;
  // Somebody else may have written the same meanwhile, and so may an earlier try of this very call.
  const head = await storage.blobs.head(names.inputs, local.name, { signal: options.signal });
  if (head.kind === "found" && head.properties.metadata["sha256"] === body.sha256()) return;
  throw otherContent([local.name]);
}
