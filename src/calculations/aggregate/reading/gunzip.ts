import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { CalculationError, messageOf } from "../../../model/errors.ts";
import { readLimits } from "./readLimits.ts";

/**
 * What gzip bytes hold, all members one after the other, piece by piece. Throws `CalculationError` naming the file
 * where they are cut or damaged; an error of `pieces` passes through.
 */
export async function* gunzip(path: string, pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const unzip = createGunzip({ chunkSize: readLimits.gunzipBytes });
  // The pipeline ends both sides when either fails or the caller stops early; the error surfaces in the loop below.
  pipeline(Readable.from(pieces), unzip, () => {});
  try {
    yield* unzip as AsyncIterable<Buffer>;
  } catch (cause) {
    if (!String((cause as { code?: unknown }).code).startsWith("Z_")) throw cause;
    throw new CalculationError("bad-gzip", `${path} is cut or damaged: gzip says ${messageOf(cause)}`, {
      cause,
    });
  }
}
