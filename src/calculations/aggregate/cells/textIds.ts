import { randomInt } from "node:crypto";

/** Differs from process to process, so that no file can be made whose texts all meet in one slot. */
const seed = randomInt(2 ** 31);

/**
 * Numbers texts, given as UTF-8 bytes, in the order in which they first appear: an open-addressing table that is at most
 * half full and compares bytes, so that a known text is found without making a string.
 */
export class TextIds {
  #slots = new Int32Array(32);
  /** By id: the hash of a text, and where its bytes end in `#held`. They begin where those of the id before end. */
  #hashes = new Int32Array(16);
  #ends = new Int32Array(16);
  #held = new Uint8Array(256);
  #size = 0;

  /** The number of `bytes[from, to)`, which may be a new one. */
  idOf(bytes: Uint8Array, from: number, to: number): number {
    const hash = hashOf(bytes, from, to);
    const slot = this.#slotOf(bytes, from, to, hash);
    const known = this.#slots[slot] as number;
    return known === 0 ? this.#add(bytes.subarray(from, to), hash, slot) : known - 1;
  }

  /** The number of `bytes[from, to)`, or -1 if it has none. */
  find(bytes: Uint8Array, from: number, to: number): number {
    return (this.#slots[this.#slotOf(bytes, from, to, hashOf(bytes, from, to))] as number) - 1;
  }

  /** The slot with the id + 1 of a text, or the free slot where it belongs. */
  #slotOf(bytes: Uint8Array, from: number, to: number, hash: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const id = (slots[slot] as number) - 1;
      if (id < 0 || (this.#hashes[id] === hash && this.#isText(id, bytes, from, to))) return slot;
    }
  }

  #isText(id: number, bytes: Uint8Array, from: number, to: number): boolean {
    const start = this.#startOf(id);
    if ((this.#ends[id] as number) - start !== to - from) return false;
    const held = this.#held;
    for (let at = from, other = start; at < to; at++, other++) if (bytes[at] !== held[other]) return false;
    return true;
  }

  #startOf(id: number): number {
    return id === 0 ? 0 : (this.#ends[id - 1] as number);
  }

  #add(text: Uint8Array, hash: number, slot: number): number {
    const id = this.#size;
    const start = this.#startOf(id);
    const end = start + text.length;
    if (end > this.#held.length) this.#held = new Uint8Array(this.#held.buffer.transfer(end * 2));
    this.#held.set(text, start);
    if (id === this.#ends.length) {
      this.#ends = new Int32Array(this.#ends.buffer.transfer(id * 8));
      this.#hashes = new Int32Array(this.#hashes.buffer.transfer(id * 8));
    }
    this.#ends[id] = end;
    this.#hashes[id] = hash;
    this.#slots[slot] = id + 1;
    this.#size += 1;
    if (this.#size * 2 > this.#slots.length) this.#rehash();
    return id;
  }

  #rehash(): void {
    const slots = new Int32Array(this.#slots.length * 2);
    const mask = slots.length - 1;
    for (let id = 0; id < this.#size; id++) {
      let slot = (this.#hashes[id] as number) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = id + 1;
    }
    this.#slots = slots;
  }
}

function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = seed;
  for (let at = from; at < to; at++)
    hash = Math.imul(hash ^ (bytes[at] as number), 0x5bd1e995) ^ (hash >>> 15);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

const encoder = new TextEncoder();

/** The text that was written last as UTF-8, in `bytes[0, length)`. An unpaired surrogate becomes U+FFFD. */
export const utf8 = {
  bytes: new Uint8Array(1024),
  length: 0,
  write(text: string): void {
    if (this.bytes.length < text.length * 3) this.bytes = new Uint8Array(text.length * 6);
    const { bytes } = this;
    this.length = text.length;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code > 0x7f) {
        this.length = encoder.encodeInto(text, bytes).written;
        return;
      }
      bytes[at] = code;
    }
  },
};
