import { hash } from "node:crypto";
import type { Dirent } from "node:fs";
import { chmod, lstat, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { InputError } from "../../engine/model/errors.ts";
import { lockRemains } from "./dataLock.ts";
import { makeFolder } from "./makeFolder.ts";
import { isWrittenByOthers, ownUid, readPrivate, writePrivate } from "./privateFile.ts";
import { accountSchema, nameOfData, newAccount, type StorageAccount } from "./storageAccount.ts";
import { type Env, lastingFolder } from "./userFolders.ts";

/**
 * Which data folders this user's emulators made, and the account of each, in the user's state folder. Files of an emulator
 * that came with a repository or an archive would choose what is read, deleted and served to web pages, and with which key.
 * So a folder that is not recorded is used only if it holds none, or if its user says so.
 *
 * Not promised: anything against programs of the same user, for a folder on a file system that renumbers its files, or
 * about files that somebody puts into a recorded folder later: they count as ours.
 */
const recordSchema = z.object({
  v: z.literal(1),
  path: z.string(),
  /** Device, inode and time of birth: a folder of this name that was deleted and came anew is another. */
  identity: z.string(),
  account: accountSchema,
});

export interface DataFolder {
  readonly account: StorageAccount;
  /** Records the folder with its account, for whoever holds it alone. */
  keep(): Promise<void>;
}

/** What the emulator and its supervisor make in a data folder. */
const emulatorsOwn = /^(__(azurite|blobstorage|queuestorage|tablestorage)|leasefold[.-])/iu;

/**
 * Whether a system may open the file under one of those names. Those of macOS and Windows ignore case, and some of macOS
 * ligatures and invisible characters too.
 */
export const isEmulatorsOwn = (name: string): boolean =>
  emulatorsOwn.test(name.normalize("NFKC").replace(/\p{Default_Ignorable_Code_Point}/gu, ""));

/**
 * Opens a data folder, or makes it. `adopt`: the user vouches for files that are not recorded. Their account keeps its
 * name, because the data belong to it, under a key of its own. Throws `InputError` for a link, for a folder that another user
 * can write into, and for files that are not recorded.
 */
export async function openDataFolder(
  location: string,
  { env, adopt = false }: { readonly env: Env; readonly adopt?: boolean | undefined },
): Promise<DataFolder> {
  await makeFolder(location, 0o700);
  const given = await lstat(location);
  if (given.isSymbolicLink()) {
    const path = await realpath(location);
    throw refused("data-link", location, `is a link; name the folder that it leads to, ${path}`);
  }
  // Whoever may write here can place a link at any later time.
  if (isWrittenByOthers(given))
    throw refused(
      "data-open",
      location,
      "belongs to another user or can be written by others; take one of your own, or: chmod go-w",
    );
  const own = (await readdir(location, { withFileTypes: true })).filter(({ name }) => isEmulatorsOwn(name));
  for (const entry of own) await refuseLinks(location, entry);
  const remains = await lockRemains(location);
  if (remains !== undefined)
    throw refused("data-refused", remains, "is none of ours, and SQLite would follow it; remove it");

  const path = await realpath(location);
  const file = join(await lastingFolder(env), `data-${hash("sha256", path).slice(0, 32)}.json`);
  const identity = await identityOf(path);
  const keep = (account: StorageAccount): Promise<void> =>
    writePrivate(file, `${JSON.stringify({ v: 1, path, identity, account })}\n`);
  const record = decode(await readPrivate(file));
  const known = record?.path === path && record.identity === identity ? record : undefined;
  if (known === undefined && own.length > 0 && !adopt)
    throw refused(
      "data-not-ours",
      location,
      `holds files of a storage emulator that no "leasefold up" of yours made there, and they choose which files are ` +
        "read and served; if they are yours, use it once with --adopt",
    );
  for (const { name } of own) await closeToOthers(join(location, name));
  if (known !== undefined) return { account: known.account, keep: async () => undefined };
  const account = own.length > 0 ? { ...newAccount(), name: await nameOfData(location) } : newAccount();
  // Before the emulator makes its files: a second start meanwhile waits for the lock and is not refused here.
  await keep(account);
  return { account, keep: () => keep(account) };
}

/** Names are followed by whoever opens them, so each of them is a file or a folder of files. */
async function refuseLinks(location: string, entry: Dirent): Promise<void> {
  const path = join(location, entry.name);
  if (entry.isFile()) return;
  if (!entry.isDirectory()) throw refused("data-link", path, "is a link or no file; remove it");
  for (const one of await readdir(path, { withFileTypes: true }))
    if (!one.isFile()) throw refused("data-link", join(path, one.name), "is a link or no file; remove it");
}

/** Earlier versions left them open. Later files are private by the emulator's umask; modes mean nothing on Windows. */
async function closeToOthers(path: string): Promise<void> {
  try {
    const stats = await lstat(path);
    if (stats.uid === (ownUid ?? stats.uid)) await chmod(path, stats.isDirectory() ? 0o700 : 0o600);
  } catch (error) {
    // An emulator that just ends replaces its files.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

async function identityOf(path: string): Promise<string> {
  const { dev, ino, birthtimeNs } = await stat(path, { bigint: true });
  return `${dev} ${ino} ${birthtimeNs}`;
}

function decode(text: string | undefined): z.infer<typeof recordSchema> | undefined {
  try {
    return recordSchema.parse(JSON.parse(text ?? ""));
  } catch {
    return undefined;
  }
}

const refused = (code: string, path: string, why: string): InputError =>
  new InputError("conflict", code, `data: ${path} ${why}`, { field: "data" });
