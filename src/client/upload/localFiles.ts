import { readdir, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { InputError } from "../../model/errors.ts";
import { checkInputName } from "../../model/names.ts";
import { uploadBytesMax } from "../../storage/uploadBlocks.ts";
import { boundedMap } from "../boundedMap.ts";
import { clientLimits } from "../clientLimits.ts";

/** A path of this machine that cannot be uploaded, and why. */
export const badFile = (message: string): InputError =>
  new InputError("invalid", "bad-file", message, { field: "path" });

/** Blobs that are there and hold something else. */
export const otherContent = (names: readonly string[]): InputError => {
  const what = names.length === 1 ? `${names[0]} is` : `${names.length} files, such as ${names[0]}, are`;
  const message = `${what} there with other content: give --replace to overwrite, or another folder with --to`;
  return new InputError("conflict", "other-content", message);
};

export const changedMeanwhile = (file: string): InputError =>
  new InputError(
    "conflict",
    "file-changing",
    `${file} changed while it was read: upload it again when it is still`,
  );

/** A file of this machine that becomes a blob, as it was when it was found. */
export interface LocalFile {
  /** Absolute. */
  readonly file: string;
  /** Of the blob. */
  readonly name: string;
  readonly bytes: number;
  readonly mtimeMs: number;
}

export interface LocalFiles {
  /** In order of their names. */
  readonly files: readonly LocalFile[];
  /** What the names have in common: `sales/`, or the whole name of a single file. */
  readonly prefix: string;
  /** Links and special files met in folders, which are not followed: a link may lead anywhere, also back. */
  readonly leftOut: number;
}

/**
 * The files of these paths, folders with all that is below them. What is in a folder keeps its path below it, under `to`
 * or else under the folder's own name. Throws `InputError` for whatever cannot be uploaded, before anything is.
 */
export async function findLocalFiles(
  folder: string,
  paths: readonly string[],
  to: string | undefined,
): Promise<LocalFiles> {
  if (to === undefined && paths.length > 1)
    throw badFile("several paths need one folder to go to: give --to, such as --to sales");
  const under = to?.replace(/^\/+|\/+$/g, "");
  if (under !== undefined) checkInputName(under);
  const found: { file: string; name: string }[] = [];
  let [leftOut, prefix] = [0, under === undefined ? "" : `${under}/`];
  for (const path of paths) {
    const root = resolve(folder, path);
    const kind = await lookAt(root, path);
    if (kind.isFile()) {
      found.push({ file: root, name: `${prefix}${basename(root)}` });
      if (under === undefined) prefix = basename(root);
    } else if (kind.isDirectory()) {
      if (under === undefined) prefix = `${basename(root)}/`;
      const files: { file: string; name: string }[] = [];
      leftOut += await walk(root, prefix, path, files);
      if (files.length === 0) throw badFile(`there is no file in ${path}`);
      for (const one of files) found.push(one);
    } else throw badFile(`${path} is neither a file nor a folder`);
  }
  return { files: await checked(found), prefix, leftOut };
}

/** Adds the files below a folder and gives how many entries were neither file nor folder. */
async function walk(
  folder: string,
  prefix: string,
  shown: string,
  into: { file: string; name: string }[],
): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    throw badFile(`cannot read the folder ${shown} (${codeOf(error)})`);
  });
  let leftOut = 0;
  for (const entry of entries) {
    const [file, name] = [join(folder, entry.name), `${prefix}${entry.name}`];
    if (entry.isFile()) into.push({ file, name });
    else if (entry.isDirectory()) leftOut += await walk(file, `${name}/`, join(shown, entry.name), into);
    else leftOut += 1;
  }
  return leftOut;
}

async function checked(
  found: readonly { readonly file: string; readonly name: string }[],
): Promise<LocalFile[]> {
  const names = new Set<string>();
  for (const { name } of found) {
    checkInputName(name);
    if (names.has(name)) throw badFile(`two of the files would be ${name}; upload them one after the other`);
    names.add(name);
  }
  const files = await boundedMap(found, clientLimits.readsAtOnce, async ({ file, name }) => {
    const { size, mtimeMs } = await lookAt(file, file);
    if (size > uploadBytesMax)
      throw badFile(`${file} has ${size} bytes; the limit is ${uploadBytesMax} for one file`);
    return { file, name, bytes: size, mtimeMs };
  });
  return files.sort((a, b) => (a.name < b.name ? -1 : 1));
}

const lookAt = (file: string, shown: string) =>
  stat(file).catch((error: unknown) => {
    const code = codeOf(error);
    throw badFile(
      code === "ENOENT" ? `there is no file or folder ${shown}` : `cannot look at ${shown} (${code})`,
    );
  });

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? "unknown";
