import type { TokenCredential } from "@azure/identity";
import type { BatchSubResponse, ContainerClient } from "@azure/storage-blob";
import pMap from "p-map";
import { StorageError } from "../engine/model/errors.ts";
import { limits } from "../engine/model/limits.ts";
import type { CallOptions } from "../engine/storage/calls.ts";
import { storageErrorOfCode, withOutcomes } from "../engine/storage/storageErrors.ts";
import { azureCalls } from "./azureCalls.ts";

const call = azureCalls("blob");

/** Few at a time: while the emulator works on a batch it answers no other call, not even a leader's heartbeat. */
const batchesAtOnce = 2;
const singlesAtOnce = 16;

/**
 * Deletes blobs by Blob Batch requests, scoped to their container because that needs the fewest rights. A name without a
 * definite answer in its batch is deleted by its own request, which the SDK retries. So is every name once a batch is
 * refused as a whole, because not every account and not every SAS allows batches.
 */
export async function removeInBatches(
  home: ContainerClient,
  names: readonly string[],
  options: CallOptions | undefined,
): Promise<void> {
  const refusals: StorageError[] = [];
  /** Keeps a refusal for the end, because it concerns one blob; any other failure concerns them all. */
  const keepRefusal = (error: unknown): void => {
    if (!isRefusal(error)) throw error;
    refusals.push(error);
  };
  const unsure: string[] = [];
  let batchesWork = true;

  const submitSlice = async (slice: readonly string[]): Promise<void> => {
    const answers = batchesWork ? await submit(home, slice, options) : "refused";
    if (answers === "refused") {
      batchesWork = false;
      unsure.push(...slice);
      return;
    }
    slice.forEach((name, index) => {
      const result = resultOf(answers[index], `Delete Blob ${home.containerName}/${name}`);
      if (result === "unsure") unsure.push(name);
      else if (result !== "deleted") keepRefusal(result);
    });
  };
  await pMap(slices(names), submitSlice, { concurrency: batchesAtOnce });
  const removeOne = (name: string): Promise<void> => {
    const what = `Delete Blob ${home.containerName}/${name}`;
    const deleted = call(what, options, async (abortSignal) => {
      await home.getBlobClient(name).delete({ abortSignal });
    });
    return withOutcomes(deleted, { BlobNotFound: undefined }).catch(keepRefusal);
  };
  await pMap(unsure, removeOne, { concurrency: singlesAtOnce });
  if (refusals[0] !== undefined) throw refusals[0];
}

/** The answer for each name, as far as there is one. */
async function submit(
  home: ContainerClient,
  names: readonly string[],
  options: CallOptions | undefined,
): Promise<readonly (BatchSubResponse | undefined)[] | "refused"> {
  try {
    return await call(`Blob Batch ${home.containerName}`, options, async (abortSignal) => {
      const client = home.getBlobBatchClient();
      const batch = client.createBatch();
      const { credential } = home;
      const signer = "getToken" in credential ? oneToken(credential) : credential;
      for (const name of names) await batch.deleteBlob(home.getBlobClient(name).url, signer);
      return (await client.submitBatch(batch, { abortSignal })).subResponses;
    });
  } catch (error) {
    if (refusesBatches(error)) return "refused";
    throw error;
  }
}

/** The emulator answers 500 without a code to a batch under an account SAS; the service gives every 500 a code. */
function refusesBatches(error: unknown): boolean {
  if (!(error instanceof StorageError) || error.storageCode === "ContainerNotFound") return false;
  return error.kind !== "busy" || (error.status === 500 && error.storageCode === "");
}

/** Each request within a batch is signed separately and requests a token for it; one token serves them all. */
function oneToken(credential: TokenCredential): TokenCredential {
  let token: ReturnType<TokenCredential["getToken"]> | undefined;
  return {
    getToken: (...request) => {
      token ??= credential.getToken(...request);
      return token;
    },
  };
}

function resultOf(answer: BatchSubResponse | undefined, what: string): "deleted" | "unsure" | StorageError {
  if (answer?.status === 202 || answer?.errorCode === "BlobNotFound") return "deleted";
  if (!answer?.errorCode) return "unsure";
  const error = storageErrorOfCode("blob", answer.errorCode, answer.status, what);
  return error.kind === "busy" ? "unsure" : error;
}

const isRefusal = (error: unknown): error is StorageError =>
  error instanceof StorageError && error.kind === "refused" && error.storageCode !== "ContainerNotFound";

function* slices(names: readonly string[]): Generator<readonly string[]> {
  for (let at = 0; at < names.length; at += limits.blobBatchMax) {
    yield names.slice(at, at + limits.blobBatchMax);
  }
}
