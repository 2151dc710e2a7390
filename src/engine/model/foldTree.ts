import { powerFrom, type Range } from "./packs.ts";

/**
 * The tree by which partials are merged, fixed by chunk indices alone. A span is `size` chunks from `from` on, where
 * `size` is a power of two that divides `from`. Its fold is `merge(left half, right half)`, or the half that is there
 * where nothing is folded in the other: all of it are gaps, or chunks that the run does not have. So a result depends on
 * which chunks are folded, and neither on packs and shards nor on the order in which they were folded.
 *
 * Not promised: anything about chunks that are neither folded nor skipped yet. Whoever folds a range knows all of it.
 */
export interface Span {
  readonly from: number;
  readonly size: number;
}

/** The largest spans that make up a range, in order: at most `2·log₂` of its chunks, and one if it is a span itself. */
export function spansOf({ from, to }: Range): Span[] {
  const spans: Span[] = [];
  for (let at = from; at < to; ) {
    let size = 1;
    while (at % (2 * size) === 0 && at + 2 * size <= to) size *= 2;
    spans.push({ from: at, size });
    at += size;
  }
  return spans;
}

/**
 * What a fold of these chunks covers. Where the run's last chunk is among them, that is the whole of the span that ends
 * with it, since no further chunk can come: so the last pack is one span, as the others are.
 */
export function coverOf({ from, to }: Range, chunks: number): Range {
  if (to < chunks) return { from, to };
  const last = spansOf({ from, to: powerFrom(chunks) }).findLast((span) => span.from < to);
  return { from, to: last === undefined ? to : last.from + last.size };
}

interface Folded<Part> extends Span {
  /** Absent where nothing is folded. */
  readonly part?: Part;
}

/**
 * Folds parts as they come, in index order, and merges what has become a whole span: at most `2·log₂` of the chunks are
 * held at a time. Chunks that are passed over count as gaps.
 */
export class TreeFold<Part> {
  readonly #merge: (left: Part, right: Part) => Promise<Part>;
  readonly #held: Folded<Part>[] = [];
  #at: number;

  constructor(from: number, merge: (left: Part, right: Part) => Promise<Part>) {
    this.#at = from;
    this.#merge = merge;
  }

  async add({ from, size }: Span, part: Part): Promise<void> {
    if (from !== this.#at) await this.skipTo(from);
    await this.#push({ from, size, part });
  }

  /** What lies before `to` and was not added is a gap. */
  async skipTo(to: number): Promise<void> {
    if (to < this.#at) throw new RangeError(`chunk ${to} comes where ${this.#at} is next`);
    for (const gap of spansOf({ from: this.#at, to })) await this.#push(gap);
  }

  /** The largest spans of the range up to `to`, in order, each with its part if anything is folded in it. */
  async end(to: number): Promise<readonly Folded<Part>[]> {
    await this.skipTo(to);
    return this.#held;
  }

  async #push(next: Folded<Part>): Promise<void> {
    const held = this.#held;
    this.#at = next.from + next.size;
    let whole = next;
    while (held.at(-1)?.size === whole.size && (whole.from / whole.size) % 2 === 1) {
      const left = held.pop() as Folded<Part>;
      const span = { from: left.from, size: 2 * left.size };
      if (!("part" in left)) whole = { ...whole, ...span };
      else if (!("part" in whole)) whole = { ...left, ...span };
      else whole = { ...span, part: await this.#merge(left.part as Part, whole.part as Part) };
    }
    held.push(whole);
  }
}
