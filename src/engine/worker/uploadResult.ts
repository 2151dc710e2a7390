import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { ResultBytes } from "../calculation/contract.ts";
import type { WorkerPorts } from "./ports.ts";

/**
 * Uploads what a calculation's finish made under a name that this attempt alone has, and returns what the document that
 * names it says of it. The hash comes first, so that only the write of that document can fail after the upload. An
 * upload that fails may have happened; no document will name it, so it is removed.
 */
export async function uploadResult(ports: WorkerPorts, blob: string, { body, contentType }: ResultBytes) {
  const sha256 = await sha256Of(body);
  try {
    await ports.storage.blobs.create(ports.names.results, blob, body, { contentType });
  } catch (error) {
    await removeResult(ports, blob);
    throw error;
  }
  return { blob, contentType, bytes: body.length, sha256 };
}

/** Removes a result that no document will ever name. What stays because this fails is deleted with its run. */
export async function removeResult({ storage, names }: WorkerPorts, blob: string): Promise<void> {
  await storage.blobs.remove(names.results, blob).catch(() => {});
}

/** Bytes hashed at once: some 40 ms without SHA instructions. A leader in this process has 0.9 s for a beat. */
const hashedAtOnce = 16 * 1024 * 1024;

async function sha256Of(bytes: Uint8Array): Promise<string> {
  const sum = createHash("sha256");
  for (let from = 0; from < bytes.length; from += hashedAtOnce) {
    if (from > 0) await setImmediate();
    sum.update(bytes.subarray(from, from + hashedAtOnce));
  }
  return sum.digest("hex");
}
