import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { CalculationError, messageOf } from "../../../model/errors.ts";
import type { FileFact } from "../../files.ts";
import { readLimits } from "./readLimits.ts";

const { gunzipRatioMax, gunzipAlwaysBytes, gunzipBytesMax } = readLimits;

/**
 * What gzip bytes hold, all members one after the other, piece by piece. Throws `CalculationError` naming the file
 * where they are cut or damaged or hold too much; an error of `pieces` passes through.
 */
export async function* gunzip(
  { path, bytes }: FileFact,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const most = Math.min(gunzipBytesMax, Math.max(gunzipAlwaysBytes, bytes * gunzipRatioMax));
  let unpacked = 0;
  const unzip = createGunzip({ chunkSize: readLimits.gunzipBytes });
  // The pipeline ends both sides when either fails or the caller stops early; the error surfaces in the loop below.
  pipeline(Readable.from(pieces), unzip, () => {});
  try {
    for await (const piece of unzip as AsyncIterable<Buffer>) {
      unpacked += piece.length;
      if (unpacked > most) throw tooMuch(path, bytes, most);
      yield piece;
    }
  } catch (cause) {
    if (!String((cause as { code?: unknown }).code).startsWith("Z_")) throw cause;
    throw new CalculationError("bad-gzip", `${path} is cut or damaged: gzip says ${messageOf(cause)}`, {
      cause,
    });
  }
}

const tooMuch = (path: string, bytes: number, most: number): CalculationError =>
  new CalculationError(
    "gzip-too-large",
    `${path}: its ${bytes} bytes hold more than ${most} (gunzipBytesMax, or gunzipRatioMax times its size); ` +
      "upload it unpacked, or in several files",
  );
