import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, readdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { InputError } from "../../src/engine/model/errors.ts";
import type { Cli } from "./cli.ts";
import { isSystemError, systemReason } from "./options.ts";

/**
 * Writes a stream to a temporary file beside `file`, and renames it when the stream has ended without an error and the
 * disk has all of it, so that `file` is never incomplete. Returns its full name. Throws `InputError` where the system
 * refuses to write.
 */
export async function saveBytes(
  cli: Pick<Cli, "folder">,
  file: string,
  openBody: () => Promise<AsyncIterable<Uint8Array>>,
): Promise<string> {
  const { path, half, handle } = await openBeside(cli, file);
  try {
    await pipeline(await openBody(), handle.createWriteStream({ flush: true }));
    await rename(half, path);
    return path;
  } catch (error) {
    await handle.close().catch(() => {});
    await rm(half, { force: true }).catch(() => {});
    throw isSystemError(error) ? notWritable(file, systemReason(error)) : error;
  }
}

/** Throws `InputError` if `file` cannot be written, so that nothing is computed for it in vain. */
export async function checkWritable(cli: Pick<Cli, "folder">, file: string | undefined): Promise<void> {
  if (file === undefined) return;
  if (isFolder(file)) return rmdir((await openFolder(cli, file)).half);
  const { half, handle } = await openBeside(cli, file);
  await handle.close();
  await rm(half);
}

export const notWritable = (file: string, why: string): InputError =>
  new InputError("invalid", "bad-file", `cannot write ${file}: ${why}`, { field: "output" });

/** A temporary file beside `file`, open for writing: a new one, unless `tag` names one that an earlier command may have begun. */
export async function openBeside({ folder }: Pick<Cli, "folder">, file: string, tag?: string) {
  const path = resolve(folder, file);
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) throw notWritable(file, "it is a folder");
  // A rename would replace a device or pipe.
  if (found?.isFile() === false) throw notWritable(file, "it is no regular file");
  const half = `${path}.${tag ?? randomUUID().slice(0, 8)}.part`;
  const { O_CREAT, O_RDWR, O_NOFOLLOW = 0 } = constants;
  const flags = tag === undefined ? "wx" : O_CREAT | O_RDWR | O_NOFOLLOW;
  // Results may be anybody's data: a new file is its owner's alone, and one that is replaced stays as open as it was.
  const handle = await open(half, flags, (found?.mode ?? 0o600) & 0o777).catch((cause: unknown) => {
    throw notWritable(file, systemReason(cause));
  });
  // In a folder of others that name could be anything that they have put there.
  const { nlink, uid } = await handle.stat();
  if (nlink === 1 && (process.getuid === undefined || uid === process.getuid()))
    return { path, half, handle };
  await handle.close();
  throw notWritable(half, "there is a file that is not yours");
}

/** Streams to standard output as fast as the reader takes it. Throws `InputError` for binary bytes on a terminal. */
export async function printBytes(cli: Pick<Cli, "out">, body: AsyncIterable<Uint8Array>): Promise<void> {
  const { isTty } = cli.out;
  const isText = textCheck();
  let last: number | undefined;
  for await (const piece of body) {
    if (isTty && !isText(piece)) throw new InputError("invalid", "binary-output", binaryOutput);
    await cli.out.write(piece);
    last = piece.at(-1) ?? last;
  }
  const newline = 10;
  // On a terminal the prompt begins on a new line; a file or pipe gets the exact bytes.
  if (isTty && last !== undefined && last !== newline) await cli.out.write("\n");
}

const binaryOutput = "binary output is not written to a terminal: write it to a file (-o FILE) or to a pipe";

/** Whether each piece of a stream is text: UTF-8 without zero bytes. Content types are whatever user code says. */
function textCheck(): (piece: Uint8Array) => boolean {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  return (piece) => {
    try {
      return !decoder.decode(piece, { stream: true }).includes("\0");
    } catch {
      return false;
    }
  };
}

export const isFolder = (name: string): boolean => name.endsWith("/");

/** A new folder beside the one that is asked for, which must be empty or not there yet. */
export async function openFolder({ folder }: Pick<Cli, "folder">, asked: string) {
  const path = resolve(folder, asked);
  const half = `${path}.${randomUUID().slice(0, 8)}.part`;
  try {
    const there = await readdir(path).catch((error: unknown) => {
      if (isSystemError(error) && error.code === "ENOENT") return [];
      throw error;
    });
    if (there.length === 0) await mkdir(half, { mode: 0o700 });
    else throw notWritable(asked, "it is not empty");
    return { path, half };
  } catch (error) {
    throw isSystemError(error) ? notWritable(asked, systemReason(error)) : error;
  }
}
