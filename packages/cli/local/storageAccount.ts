import { randomBytes } from "node:crypto";
import * as z from "zod";

/** Name and key of the emulator's account: the key is what keeps web pages and other users out of the storage. */
export const accountSchema = z.object({ name: z.string().regex(/^[a-z0-9]{3,24}$/), key: z.base64().min(1) });
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
