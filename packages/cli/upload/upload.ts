import pMap from "p-map";
import type { Client } from "../../../src/engine/client/client.ts";
import { ensuringContainers } from "../../../src/engine/client/containersAndQueues.ts";
import { InputError } from "../../../src/engine/model/errors.ts";
import { holdsBytes, pages } from "../../../src/engine/storage/callSteps.ts";
import type { ListedBlob } from "../../../src/engine/storage/ports.ts";
import { uploadBlockBytes } from "../../../src/engine/storage/uploadBlocks.ts";
import { fileBody, findLocalFiles, type LocalFile, sha256OfFile } from "./localFiles.ts";

export interface UploadRequest {
  /** Base of relative paths. */
  readonly folder: string;
  readonly paths: readonly string[];
  /**
   * Folder in the container of inputs, with or without the container's name. Default: the name of the one folder, or
   * none for a single file.
   */
  readonly to?: string | undefined;
  /** Overwrites blobs with other content, which are refused otherwise. */
  readonly replace?: boolean | undefined;
  readonly signal?: AbortSignal;
}

export interface UploadProgress {
  readonly files: number;
  readonly filesDone: number;
  readonly bytes: number;
  readonly bytesDone: number;
}

export type Uploaded = Awaited<ReturnType<typeof upload>>;

/** Each large file holds up to 20 MB of memory; a small one takes little more than the time of a call. */
const largeAtOnce = 2;
const smallAtOnce = 12;

/**
 * Uploads files and folders to the container of inputs. Blobs with the same content are skipped, so an interrupted
 * upload resumes. Nothing is written if any file is refused; a file that changes while it is read is not written.
 * Throws `InputError`.
 */
export async function upload(
  client: Client,
  request: UploadRequest,
  onProgress: (progress: UploadProgress) => void = () => {},
) {
  const container = `${client.names.inputs}/`;
  const to = request.to?.startsWith(container) ? request.to.slice(container.length) : request.to;
  const { files, prefix, leftOut } = await findLocalFiles(request.folder, request.paths, to);
  const { same, differing, others } = await compare(client, files, prefix, request.signal);
  if (differing.size > 0 && request.replace !== true) throw otherContent([...differing.keys()].sort());

  const bytes = bytesOf(files);
  const rest = files.filter(({ name }) => !same.has(name));
  let bytesDone = bytes - bytesOf(rest);
  let filesDone = same.size;
  const report = (more: number): void => {
    bytesDone += more;
    onProgress({ files: files.length, filesDone, bytes, bytesDone });
  };
  report(0);
  // The first failure stops the other writes too.
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, ...(request.signal === undefined ? [] : [request.signal])]);
  const writeOne = async (local: LocalFile): Promise<void> => {
    await write(client, local, { ifMatch: differing.get(local.name)?.etag, signal }, report);
    filesDone += 1;
    report(0);
  };
  const isLarge = (local: LocalFile): boolean => local.bytes > uploadBlockBytes;
  const small = rest.filter((local) => !isLarge(local));
  try {
    await pMap(rest.filter(isLarge), writeOne, { concurrency: largeAtOnce });
    await pMap(small, writeOne, { concurrency: smallAtOnce });
  } catch (error) {
    stop.abort();
    throw error;
  }
  // Files written, of those the ones over other content, and files that existed with the same content.
  const counts = { written: rest.length, replaced: differing.size, same: same.size };
  /** `container/prefix` of the files, as calculations take it. */
  const source = `${client.names.inputs}/${prefix}`;
  // `others`: files that were there under the source before; a run over it reads them too.
  return { source, files: files.length, bytes, ...counts, leftOut, others };
}

const bytesOf = (files: readonly LocalFile[]): number => files.reduce((sum, one) => sum + one.bytes, 0);

/** The names of files whose blobs have the same content, the blobs with other content by name, and how many others there are. */
async function compare(
  client: Client,
  files: readonly LocalFile[],
  prefix: string,
  signal: AbortSignal | undefined,
) {
  const { storage, names } = client;
  const existing = new Map<string, ListedBlob>();
  const list = (cursor: string | undefined) =>
    ensuringContainers(client, () => storage.blobs.list(names.inputs, prefix, { cursor, signal }));
  for await (const { blobs } of pages(list)) for (const blob of blobs) existing.set(blob.name, blob);
  const same = new Set<string>();
  const differing = new Map<string, ListedBlob>();
  const compareOne = async (local: LocalFile): Promise<void> => {
    const blob = existing.get(local.name);
    if (blob === undefined) return;
    if (await isSame(client, local, blob, signal)) same.add(local.name);
    else differing.set(local.name, blob);
  };
  await pMap(files, compareOne, { concurrency: largeAtOnce });
  // The source of a single file is that file.
  const others = prefix.endsWith("/") ? existing.size - same.size - differing.size : 0;
  return { same, differing, others };
}

/** Whether a blob holds this file. The hash in its metadata does not count: anybody who may write inputs may state it. */
async function isSame(
  { storage, names }: Client,
  local: LocalFile,
  { name, bytes, etag }: ListedBlob,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  if (bytes !== local.bytes) return false;
  const content = { bytes, sha256: () => sha256OfFile(local) };
  return await holdsBytes(storage.blobs, [names.inputs, name], content, { ifMatch: etag, signal });
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
  // Another process may have written the same content meanwhile, and so may an earlier try of this call.
  const content = { bytes: local.bytes, sha256: body.sha256 };
  const { signal } = options;
  if (await holdsBytes(storage.blobs, [names.inputs, local.name], content, { signal })) return;
  throw otherContent([local.name]);
}

const otherContent = (names: readonly string[]): InputError => {
  const what =
    names.length === 1 ? `${names[0]} exists` : `${names.length} files, such as ${names[0]}, exist`;
  const message = `${what} with other content: give --replace to overwrite, or another folder with --to`;
  return new InputError("conflict", "other-content", message);
};
