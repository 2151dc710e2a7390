import { throwIfAborted } from "../abortError.ts";
import { refuse } from "./memoryService.ts";

const pieceBytes = 64 * 1024;

/** The asked range of a body in pieces, as a download would bring it; the signal ends it between two pieces. */
export function streamOf(
  body: Uint8Array,
  range: { readonly offset?: number; readonly count?: number; readonly signal?: AbortSignal | undefined },
): AsyncIterable<Uint8Array> {
  const offset = range.offset ?? 0;
  const ranged = offset > 0 || range.count !== undefined;
  if (ranged && offset >= body.byteLength) throw refuse(416, "InvalidRange");
  const wanted = body.slice(offset, range.count === undefined ? undefined : offset + range.count);
  return pieces(wanted, range.signal);
}

async function* pieces(bytes: Uint8Array, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += pieceBytes) {
    throwIfAborted(signal);
    yield bytes.slice(at, at + pieceBytes);
  }
}
