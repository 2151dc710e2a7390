import type { TokenCredential } from "@azure/identity";
import type { BatchSubResponse, BlobBatch, ContainerClient } from "@azure/storage-blob";
import { StorageError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import type { CallOptions } from "../calls.ts";
import { azureCalls } from "./azureCalls.ts";
import { storageErrorOfCode, withOutcomes } from "./storageErrors.ts";

const call = azureCalls("blob");

/** Few at a time: while the emulator works on a batch it answers nobody else, and a leader's beat may wait for it. */
const batchesAtOnce = 2;
const singlesAtOnce = 16;

/**
 * Removes blobs by Blob Batch requests, scoped to their container since that needs the fewest rights. A name whose
 * answer within a batch is not definite is removed by a request of its own, which the SDK repeats; and so is every
 * name from where a batch is refused as a whole, since not every account and not every SAS allows batches.
 */
export async function removeInBatches(
  home: ContainerClient,
  names: readonly string[],
  options: CallOptions | undefined,
): Promise<void> {
  const refusals: StorageError[] = [];
  /** Keeps a refusal for the end, since it concerns one blob; any other failure concerns them all. */
  const judge = (error: unknown): void => {
    if (!isRefusal(error)) throw error;
    refusals.push(error);
  };
  const unsure: string[] = [];
  let batchesWork = true;

  await inParallel(slices(names), batchesAtOnce, async (slice) => {
    const answers = batchesWork ? await submit(home, slice, options) : "refused";
    if (answers === "refused") {
      batchesWork = false;
      unsure.push(...slice);
      return;
    }
    slice.forEach((name, index) => {
      const verdict = verdictOn(answers[index], `Delete Blob ${home.containerName}/${name}`);
      if (verdict === "unsure") unsure.push(name);
      else if (verdict !== "gone") judge(verdict);
    });
  });
  await inParallel(unsure, singlesAtOnce, (name) => removeOne(home, name, options).catch(judge));
  if (refusals[0] !== undefined) throw refusals[0];
}

type Answers = readonly (BatchSubResponse | undefined)[];

/** The answer on each name, as far as there is one. */
async function submit(
  home: ContainerClient,
  names: readonly string[],
  options: CallOptions | undefined,
): Promise<Answers | "refused"> {
  try {
    return await call(`Blob Batch ${home.containerName}`, options, async (abortSignal) => {
      const client = home.getBlobBatchClient();
      const batch = client.createBatch();
      await fill(batch, home, names);
      return (await client.submitBatch(batch, { abortSignal })).subResponses;
    });
  } catch (error) {
    if (refusesBatches(error)) return "refused";
    throw error;
  }
}

/** The emulator says 500 without a code to a batch under an account SAS; the service gives every 500 a code. */
function refusesBatches(error: unknown): boolean {
  if (!(error instanceof StorageError) || error.storageCode === "ContainerNotFound") return false;
  return error.kind !== "busy" || (error.status === 500 && error.storageCode === "");
}

async function fill(batch: BlobBatch, home: ContainerClient, names: readonly string[]): Promise<void> {
  const { credential } = home;
  const signer = "getToken" in credential ? oneToken(credential) : credential;
  for (const name of names) await batch.deleteBlob(home.getBlobClient(name).url, signer);
}

/** Each request within a batch is signed for itself, and asks for a token to do so; one serves them all. */
function oneToken(credential: TokenCredential): TokenCredential {
  let token: ReturnType<TokenCredential["getToken"]> | undefined;
  return {
    getToken: (...asked) => {
      token ??= credential.getToken(...asked);
      return token;
    },
  };
}

function verdictOn(answer: BatchSubResponse | undefined, what: string): "gone" | "unsure" | StorageError {
  if (answer?.status === 202 || answer?.errorCode === "BlobNotFound") return "gone";
  if (!answer?.errorCode) return "unsure";
  const error = storageErrorOfCode("blob", answer.errorCode, answer.status, what);
  return error.kind === "busy" ? "unsure" : error;
}

async function removeOne(
  home: ContainerClient,
  name: string,
  options: CallOptions | undefined,
): Promise<void> {
  const removed = call(`Delete Blob ${home.containerName}/${name}`, options, async (abortSignal) => {
    await home.getBlobClient(name).delete({ abortSignal });
  });
  await withOutcomes(removed, { BlobNotFound: undefined });
}

const isRefusal = (error: unknown): error is StorageError =>
  error instanceof StorageError && error.kind === "refused" && error.storageCode !== "ContainerNotFound";

function* slices(names: readonly string[]): Generator<readonly string[]> {
  for (let at = 0; at < names.length; at += limits.blobBatchMax) {
    yield names.slice(at, at + limits.blobBatchMax);
  }
}

/** Works on all items, some at once. The first failure ends it; what is under way then still ends by itself. */
async function inParallel<T>(
  items: Iterable<T>,
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  // A loop that throws closes the generator it shares with the others, so none of them begins another item.
  const shared = (function* () {
    yield* items;
  })();
  const worker = async () => {
    for (const item of shared) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
