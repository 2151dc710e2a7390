import { randomUUID } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { ConfigError } from "../../../src/engine/model/errors.ts";
import { makeFolder } from "./makeFolder.ts";

/**
 * Files that hold a key: only their owner can read them, they are created exclusively, and no link is followed.
 *
 * Not promised: anything against a process of the same user, or on Windows, where access lists protect a profile's
 * folders and modes have no meaning.
 */
export const ownUid: number | undefined = process.getuid?.();

/** Whether it belongs to this user and gives nobody else any right. */
export const isPrivate = (stats: Pick<Stats, "uid" | "mode">, uid = ownUid): boolean =>
  uid === undefined || (stats.uid === uid && (stats.mode & 0o077) === 0);

/** Undefined where there is no file. Throws `ConfigError` for a link, and for a file that others own or can read. */
export async function readPrivate(path: string): Promise<string | undefined> {
  let file: FileHandle;
  try {
    // Non-blocking: a planted pipe must not make its reader wait.
    file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw notPrivate(path, code === "ELOOP" ? "is a link" : `cannot be read (${code})`);
  }
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw notPrivate(path, "is no file");
    if (!isPrivate(stats)) throw notPrivate(path, "belongs to another user or is readable for others");
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

/** Replaces the file as a whole; readers see the old text or the new one. */
export async function writePrivate(path: string, text: string): Promise<void> {
  const half = `${path}.${randomUUID()}`;
  const file = await createPrivate(half);
  try {
    await file.writeFile(text);
  } finally {
    await file.close();
  }
  await rename(half, path);
}

/** A new file for writing; what had its name, also a link, is removed and not followed. */
export async function createPrivate(path: string): Promise<FileHandle> {
  await makeFolder(dirname(path), 0o700);
  await rm(path, { force: true });
  return await open(path, "wx", 0o600);
}

const notPrivate = (path: string, why: string): ConfigError =>
  new ConfigError(
    "not-private",
    `${path} ${why}: remove it, or make it a file that only you can read (0600)`,
  );
