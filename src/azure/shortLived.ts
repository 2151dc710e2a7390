import type { Socket } from "node:net";

/**
 * Frees memory of bodies as soon as it is used. The collector would find it, but the bytes of a gigabyte count as growth of
 * the heap: V8 marks and sweeps it whole for each 13 MB of them, which costs more than receiving them.
 */

/** What a socket reads at once, as much as Node itself gives it. */
const readBytes = 64 * 1024;

/**
 * Options for sockets of an HTTP agent. Node's parser copies the bytes of a body out of what a socket read, so that memory is
 * freed when the parser has seen it. A parser that kept it would be left with empty bytes, and its body with too few: an
 * error, and never the bytes of another answer.
 */
export const socketOptions = () => ({
  keepAlive: true,
  onread: {
    buffer: (): Uint8Array => Buffer.allocUnsafeSlow(readBytes),
    /** As a socket without these options would do it. */
    callback(this: Socket, bytes: number, memory: Uint8Array): boolean {
      this.emit("data", memory.subarray(0, bytes));
      free(memory);
      return true;
    },
  },
});

/** Passes a body on, and frees each piece when the next one is asked for. */
export async function* freeing(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of body) {
    yield piece;
    free(piece);
  }
}

/** Does nothing with memory that other arrays share, such as that of a small Buffer. */
function free({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength) buffer.transfer(0);
}
