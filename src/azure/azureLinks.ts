import {
  BlobSASPermissions,
  type BlobServiceClient,
  generateBlobSASQueryParameters,
  SASProtocol,
  type UserDelegationKey,
} from "@azure/storage-blob";
import type { Storage } from "../engine/storage/ports.ts";
import { apiVersion, azureCalls } from "./azureCalls.ts";

const call = azureCalls("blob");

/** Clocks of an account's machines and of whoever asked it differ by seconds; minutes are what Microsoft advises. */
const earlierMs = 5 * 60_000;
/** A key signs any number of links. It is asked for anew when it would end before one of them. */
const keyMs = 60 * 60_000;

/**
 * Links that the service takes for the right to read one blob over https until they end. They are signed by a user delegation key,
 * which storage gives to an identity with the role Storage Blob Delegator, and can do no more than that identity may.
 *
 * Not promised: that a link can be called back. It ends by time, with its blob, or when the account's user delegation keys are revoked.
 */
export function azureLinks(service: BlobServiceClient): NonNullable<Storage["linkTo"]> {
  let known: { readonly key: UserDelegationKey; readonly untilMs: number } | undefined;

  async function keyFor(nowMs: number, untilMs: number): Promise<UserDelegationKey> {
    if (known !== undefined && known.untilMs >= untilMs) return known.key;
    const endMs = nowMs + keyMs;
    const key = await call("Get User Delegation Key", undefined, (abortSignal) =>
      service.getUserDelegationKey(new Date(nowMs - earlierMs), new Date(endMs), { abortSignal }),
    );
    known = { key, untilMs: endMs };
    return key;
  }

  return async (container, name, { nowMs, untilMs, fileName }) => {
    const key = await keyFor(nowMs, untilMs);
    const signed = generateBlobSASQueryParameters(
      {
        version: apiVersion,
        containerName: container,
        blobName: name,
        permissions: BlobSASPermissions.parse("r"),
        protocol: SASProtocol.Https,
        startsOn: new Date(nowMs - earlierMs),
        expiresOn: new Date(untilMs),
        // Whatever a calculation made is saved and never shown.
        contentDisposition: `attachment; filename="${fileName}"`,
      },
      key,
      service.accountName,
    );
    return `${service.getContainerClient(container).getBlobClient(name).url}?${signed}`;
  };
}
