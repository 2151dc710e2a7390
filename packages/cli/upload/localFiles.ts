import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, readlink, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import pMap from "p-map";
import { clientLimits } from "../../../src/engine/client/client.ts";
import { InputError } from "../../../src/engine/model/errors.ts";
import { checkInputName } from "../../../src/engine/model/names.ts";
import { uploadBlockBytes, uploadBytesMax } from "../../../src/engine/storage/uploadBlocks.ts";

/** A path of this machine that cannot be uploaded. */
const badFile = (message: string): InputError =>
  new InputError("invalid", "bad-file", message, { field: "path" });

const fileChanging = (file: string): InputError =>
  new InputError(
    "conflict",
    "file-changing",
    `${file} changed while it was read: upload it again when nobody writes to it`,
  );

/** A file of this machine that becomes a blob, as it was when it was found. */
export interface LocalFile {
  /** Absolute path. */
  readonly file: string;
  readonly name: string;
  readonly bytes: number;
  readonly mtimeMs: number;
}

type Found = Pick<LocalFile, "file" | "name">;

/**
 * The files of these paths, and of folders everything below them, in order of their names. A file of a folder keeps its
 * path below it, under `to`, or else under the folder's own name. `prefix` is what the names have in common: `sales/`, or
 * the whole name of a single file. `leftOut` counts links and special files in folders, which are skipped: a link may lead
 * anywhere, also back. Throws `InputError` for whatever cannot be uploaded.
 */
export async function findLocalFiles(folder: string, paths: readonly string[], to: string | undefined) {
  if (to === undefined && paths.length > 1)
    throw badFile("several paths need one target folder: give --to, such as --to sales");
  const under = to?.replace(/^\/+|\/+$/g, "");
  if (under !== undefined) checkInputName(under);
  const found: Found[] = [];
  let [leftOut, prefix] = [0, under === undefined ? "" : `${under}/`];
  for (const path of paths) {
    const root = resolve(folder, path);
    // It may have come with a repository, and lead to any file of whoever uploads it.
    if ((await lstat(root).catch(() => undefined))?.isSymbolicLink() === true)
      throw badFile(`${path} is a link to ${await readlink(root)}; name what it leads to`);
    const kind = await statOf(root, path);
    if (kind.isFile()) {
      found.push({ file: root, name: `${prefix}${basename(root)}` });
      if (under === undefined) prefix = basename(root);
    } else if (kind.isDirectory()) {
      if (under === undefined) prefix = `${basename(root)}/`;
      const below = await filesBelow(root, { name: prefix, shown: path });
      if (below.files.length === 0) throw badFile(`there is no file in ${path}`);
      for (const one of below.files) found.push(one);
      leftOut += below.leftOut;
    } else throw badFile(`${path} is neither a file nor a folder`);
  }
  return { files: await checked(found), prefix, leftOut };
}

/** The files below a folder, whose blobs begin with `name`, and how many other entries there are. */
async function filesBelow(root: string, { name, shown }: { name: string; shown: string }) {
  const files: Found[] = [];
  let leftOut = 0;
  // One folder at a time: what a recursive read does with links depends on the version of Node.
  const folders = [{ folder: root, name, shown }];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const { folder, name, shown } = next;
    const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
      throw badFile(`cannot read the folder ${shown} (${codeOf(error)})`);
    });
    for (const entry of entries) {
      const file = join(folder, entry.name);
      if (entry.isFile()) files.push({ file, name: name + entry.name });
      else if (entry.isDirectory())
        folders.push({ folder: file, name: `${name}${entry.name}/`, shown: join(shown, entry.name) });
      else leftOut += 1;
    }
  }
  return { files, leftOut };
}

async function checked(found: readonly Found[]): Promise<LocalFile[]> {
  const names = new Set<string>();
  for (const { name } of found) {
    checkInputName(name);
    if (names.has(name)) throw badFile(`two of the files would be ${name}; upload them one after the other`);
    names.add(name);
  }
  const withSize = async ({ file, name }: Found): Promise<LocalFile> => {
    const { size, mtimeMs } = await statOf(file, file);
    if (size > uploadBytesMax)
      throw badFile(`${file} has ${size} bytes; the limit is ${uploadBytesMax} for one file`);
    return { file, name, bytes: size, mtimeMs };
  };
  const files = await pMap(found, withSize, { concurrency: clientLimits.readsAtOnce });
  return files.sort((a, b) => (a.name < b.name ? -1 : 1));
}

const statOf = (file: string, shown: string) =>
  stat(file).catch((error: unknown) => {
    const code = codeOf(error);
    throw badFile(
      code === "ENOENT" ? `there is no file or folder ${shown}` : `cannot read ${shown} (${code})`,
    );
  });

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? "unknown";

/**
 * Reads a file's bytes, once, and their SHA-256 in hex, which is there only after the last piece. Throws `InputError` if the
 * file has changed since it was found, so that a blob holds one state of it.
 */
export function fileBody(local: LocalFile, onBytes: (bytes: number) => void) {
  const hash = createHash("sha256");
  let sha256 = "";
  async function* pieces(): AsyncGenerator<Uint8Array> {
    const handle = await open(local.file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)).catch(
      (error: unknown) => {
        throw badFile(`cannot read ${local.file} (${codeOf(error)})`);
      },
    );
    try {
      let read = 0;
      const options = { autoClose: false, highWaterMark: uploadBlockBytes };
      for await (const piece of handle.createReadStream(options) as AsyncIterable<Buffer>) {
        read += piece.length;
        // A file that somebody writes to may never end.
        if (read > local.bytes) throw fileChanging(local.file);
        hash.update(piece);
        onBytes(piece.length);
        yield piece;
      }
      if (read !== local.bytes || (await isChanged(handle, local))) throw fileChanging(local.file);
      sha256 = hash.digest("hex");
    } finally {
      await handle.close();
    }
  }
  return { pieces: pieces(), sha256: () => sha256 };
}

async function isChanged(handle: FileHandle, { bytes, mtimeMs }: LocalFile): Promise<boolean> {
  const now = await handle.stat();
  return now.size !== bytes || now.mtimeMs !== mtimeMs;
}

export async function sha256OfFile(local: LocalFile): Promise<string> {
  const body = fileBody(local, () => {});
  for await (const _ of body.pieces);
  return body.sha256();
}
