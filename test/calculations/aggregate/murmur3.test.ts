import { expect, test } from "vitest";
import { hash128, textHash53 } from "../../../src/calculations/aggregate/measures/murmur3.ts";

const bytesOf = (words: Uint32Array): Uint8Array => {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  for (const [at, word] of words.entries()) view.setUint32(at * 4, word, true);
  return bytes;
};

/** In the middle of other bytes, which must not count. */
const hashOf = (bytes: Uint8Array, seed: number): Uint32Array =>
  hash128(
    Buffer.concat([Buffer.from("xyz"), bytes, Buffer.from("x".repeat(20))]),
    3,
    bytes.length + 3,
    seed,
  ).slice();

test("MurmurHash3_x86_128 has the verification value that SMHasher publishes", () => {
  // SMHasher's VerificationTest: keys {0}, {0,1}, … of 0 to 255 bytes with seeds 256 - n, hashed once more.
  // https://github.com/aappleby/smhasher/blob/master/src/main.cpp: 0xB3ECE62A.
  const hashes = new Uint8Array(256 * 16);
  for (let n = 0; n < 256; n++) {
    const key = Uint8Array.from({ length: n }, (_, i) => i);
    hashes.set(bytesOf(hashOf(key, 256 - n)), n * 16);
  }
  expect((hashOf(hashes, 0)[0] as number).toString(16)).toBe("b3ece62a");
});

test.each(["", "a", "user42", "Straße", "日本語", "😀", "x".repeat(5000), `${"é".repeat(40)}z`])(
  "a text hashes as its UTF-8 bytes: %j",
  (text) => {
    const [first = 0, second = 0] = hashOf(Buffer.from(text), 7);
    expect(textHash53(text, 7)).toBe(Number((BigInt(first) << 21n) | (BigInt(second) >> 11n)));
  },
);
