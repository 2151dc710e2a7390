import { instantiate, type KernelGlobal, type KernelMemory, kernelLoader } from "../../loadKernel.ts";

/** The exports of `../assembly/index.ts`, documented there. The globals are addresses, bytes and counts. */
interface MarkLoop {
  readonly memory: KernelMemory;
  readonly blockBytes: KernelGlobal;
  readonly block: KernelGlobal;
  readonly usuals: KernelGlobal;
  readonly specials: KernelGlobal;
  readonly usualsBefore: KernelGlobal;
  readonly usualCount: KernelGlobal;
  readonly specialCount: KernelGlobal;
  findMarks(length: number, base: number, usual: number, special: number, limit: number): void;
}

const loadMarks = kernelLoader("aggregate", (wasm) => {
  const loop = instantiate<MarkLoop>(wasm);
  const bytes = loop.blockBytes.value;
  const places = ({ value }: KernelGlobal) => new Int32Array(loop.memory.buffer, value, bytes);
  return {
    loop,
    block: new Uint8Array(loop.memory.buffer, loop.block.value, bytes),
    usuals: places(loop.usuals),
    specials: places(loop.specials),
    usualsBefore: places(loop.usualsBefore),
  };
});

/** The bytes that are marks: one that comes in every record as a rule, another one, and all below a limit. */
interface Marked {
  readonly usual: number;
  readonly special: number;
  readonly limit: number;
}

/**
 * Finds the marks in bytes, at which something may begin or end, 16 bytes at a time, so that those between are never
 * visited one by one.
 */
export class Marks {
  /** Places of the usual bytes, in rising order; those of the other marks, and how many usual ones are before each. */
  usuals = new Int32Array(4096);
  specials = new Int32Array(1024);
  usualsBefore = new Int32Array(1024);
  readonly #marked: Marked;

  constructor(marked: Marked) {
    this.#marked = marked;
  }

  /** Finds all marks in `bytes` and returns the number of the special ones. Behind the last place is one beyond all bytes. */
  find(bytes: Uint8Array): number {
    const { usual, special, limit } = this.#marked;
    const { loop, block, ...found } = loadMarks();
    let usuals = 0;
    let specials = 0;
    for (let from = 0; from < bytes.length; from += block.length) {
      const length = Math.min(block.length, bytes.length - from);
      block.set(bytes.subarray(from, from + length));
      loop.findMarks(length, from, usual, special, limit);
      const count = loop.specialCount.value;
      this.usualsBefore = joined(this.usualsBefore, specials, found.usualsBefore.subarray(0, count));
      for (let i = specials; i < specials + count && usuals > 0; i++) {
        this.usualsBefore[i] = (this.usualsBefore[i] as number) + usuals;
      }
      this.specials = joined(this.specials, specials, found.specials.subarray(0, count));
      this.usuals = joined(this.usuals, usuals, found.usuals.subarray(0, loop.usualCount.value));
      specials += count;
      usuals += loop.usualCount.value;
    }
    this.usuals[usuals] = this.specials[specials] = bytes.length;
    return specials;
  }
}

/** `places` with `more` from `count` on, and room for another one. */
function joined(places: Int32Array<ArrayBuffer>, count: number, more: Int32Array): Int32Array<ArrayBuffer> {
  let all = places;
  if (count + more.length >= places.length) {
    all = new Int32Array((count + more.length) * 2);
    all.set(places);
  }
  all.set(more, count);
  return all;
}
