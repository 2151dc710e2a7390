import { mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError, InputError } from "../../../src/engine/model/errors.ts";
import { readPrivate, writePrivate } from "./privateFile.ts";
import { accountSchema, newAccount, type StorageAccount } from "./storageAccount.ts";
import { type Env, lastingFolder, privateFolder } from "./userFolders.ts";

/**
 * The data that `up --data NAME` keeps: a folder for each name in the user's state folder, which nobody else can enter. A working
 * tree never holds any, so that files which came with a repository or an archive choose nothing of what is read and served.
 */
export interface DataFolder {
  readonly location: string;
  readonly account: StorageAccount;
}

/** Holds a folder for each name. */
export const dataFolder = async (env: Env): Promise<string> =>
  await privateFolder(join(await lastingFolder(env), "data"));

const namePattern = /^[a-z0-9][a-z0-9-]{0,62}$/;
const accountFile = "leasefold-account.json";

/** Opens the data of this name, or makes its folder. Throws `InputError` for a name that cannot be one of a folder. */
export async function openData(name: string, env: Env): Promise<DataFolder> {
  if (!namePattern.test(name)) {
    const rule =
      "must be a name of lower-case letters, digits and dashes; " +
      '"leasefold show data" prints where the data of each name are';
    throw new InputError("invalid", "bad-data", `data: ${JSON.stringify(name)}: ${rule}`, { field: "data" });
  }
  const all = await dataFolder(env);
  const location = join(all, name);
  const path = join(location, accountFile);
  let text = await readPrivate(path);
  if (text === undefined) {
    await makeWithAccount(all, location);
    text = await readPrivate(path);
  }
  return { location, account: decode(path, text) };
}

/** All at once, so that of two first starts both get the same account. */
async function makeWithAccount(all: string, location: string): Promise<void> {
  const half = await mkdtemp(join(all, ".new-"));
  await writePrivate(join(half, accountFile), `${JSON.stringify(newAccount())}\n`);
  await rename(half, location).catch(async (error: NodeJS.ErrnoException) => {
    await rm(half, { recursive: true });
    if (!["EEXIST", "ENOTEMPTY", "EPERM"].includes(error.code ?? "")) throw error;
  });
}

function decode(path: string, text = ""): StorageAccount {
  try {
    return accountSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new ConfigError("bad-account-file", `${path} holds no account and key of the emulator`, { cause });
  }
}
