import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { ConfigError } from "../model/errors.ts";
import { readPrivate, writePrivate } from "./privateFile.ts";

/** Name and key of the emulator's account: the key is what keeps web pages and other users out of the storage. */
const accountSchema = z.object({ name: z.string().regex(/^[a-z0-9]{3,24}$/), key: z.base64().min(1) });
export type StorageAccount = z.infer<typeof accountSchema>;

/**
 * The account that Microsoft publishes for the emulator, which `UseDevelopmentStorage=true` means. Any page in a browser
 * and any user of the machine can sign with its key.
 */
export const publishedAccount: StorageAccount = {
  name: "devstoreaccount1",
  key: "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
};

export const newAccount = (): StorageAccount => ({
  name: `leasefold${randomBytes(6).toString("hex")}`,
  key: randomBytes(64).toString("base64"),
});

const accountFile = (location: string): string => join(location, "leasefold-account.json");

/** The account of a data folder: drawn for its first start and then kept with the data, which belong to its name. */
export async function accountIn(location: string): Promise<StorageAccount> {
  const path = accountFile(location);
  const text = await readPrivate(path);
  if (text !== undefined) return decode(path, text);
  const drawn = newAccount();
  // Data from before accounts were drawn belong to the published name; their key is a new one all the same.
  const isOlder = existsSync(join(location, "__azurite_db_blob__.json"));
  return isOlder ? { ...drawn, name: publishedAccount.name } : drawn;
}

/** For whoever holds the folder alone. */
export async function keepAccount(location: string, account: StorageAccount): Promise<void> {
  const path = accountFile(location);
  if (!existsSync(path)) await writePrivate(path, `${JSON.stringify(account)}\n`);
}

function decode(path: string, text: string): StorageAccount {
  try {
    return accountSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new ConfigError("bad-account-file", `${path} holds no account and key of the emulator`, { cause });
  }
}

export const connectionStringOf = (
  { name, key }: StorageAccount,
  blobPort: number,
  queuePort: number,
): string =>
  [
    "DefaultEndpointsProtocol=http",
    `AccountName=${name}`,
    `AccountKey=${key}`,
    `BlobEndpoint=http://127.0.0.1:${blobPort}/${name}`,
    `QueueEndpoint=http://127.0.0.1:${queuePort}/${name}`,
  ].join(";");

/** What `connectionStringOf` writes, and nothing that names another machine. */
export const localConnectionPattern =
  /^DefaultEndpointsProtocol=http;AccountName=([a-z0-9]+);AccountKey=[A-Za-z0-9+/=]+;BlobEndpoint=http:\/\/127\.0\.0\.1:\d+\/\1;QueueEndpoint=http:\/\/127\.0\.0\.1:\d+\/\1$/;
