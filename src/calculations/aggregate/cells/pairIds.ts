/** Numbers pairs of whole numbers in the order in which they first appear, in an open-addressing table at most half full. */
export class PairIds {
  #slots = new Int32Array(32);
  #lefts = new Int32Array(16);
  #rights = new Int32Array(16);
  size = 0;

  idOf(left: number, right: number): number {
    const mask = this.#slots.length - 1;
    let slot = hashOf(left, right) & mask;
    for (; this.#slots[slot] !== 0; slot = (slot + 1) & mask) {
      const id = (this.#slots[slot] as number) - 1;
      if (this.#lefts[id] === left && this.#rights[id] === right) return id;
    }
    if (this.size * 2 === this.#slots.length) {
      this.#grow();
      return this.idOf(left, right);
    }
    const id = this.size++;
    this.#slots[slot] = id + 1;
    this.#lefts[id] = left;
    this.#rights[id] = right;
    return id;
  }

  #grow(): void {
    const [lefts, rights] = [this.#lefts, this.#rights];
    this.#slots = new Int32Array(this.#slots.length * 2);
    this.#lefts = new Int32Array(lefts.length * 2);
    this.#rights = new Int32Array(rights.length * 2);
    this.size = 0;
    for (const [id, left] of lefts.entries()) this.idOf(left, rights[id] as number);
  }
}

function hashOf(left: number, right: number): number {
  const hash = Math.imul(Math.imul(left, 0x9e3779b1) ^ right, 0x85ebca6b);
  return hash ^ (hash >>> 15);
}
