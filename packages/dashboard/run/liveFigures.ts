import type { RunView } from "../../../src/engine/client/runView.ts";
import { count, dollars, duration, lostOf, lostText, perSecond } from "../../../src/engine/model/figures.ts";

/** One figure of the header: a name, its value, and what explains it. */
export interface Figure {
  readonly name: string;
  readonly value: string;
  readonly note?: string;
}

/** The figures of a run `sinceMs` after its view was answered: elapsed and remaining time go on between two answers. */
export function figuresOf(view: RunView, sinceMs: number): readonly Figure[] {
  const { packs, chunks, rate, timeLeft, terms, active } = view;
  const sinceS = active ? Math.max(0, sinceMs) / 1_000 : 0;
  const last = terms.at(-1);
  const left = (seconds: number) => duration(Math.max(0, seconds - sinceS));
  const figures: (Figure | undefined)[] = [
    packs && {
      name: "packs",
      value: `${count(packs.done)} / ${count(packs.total)}`,
      note: [
        lostOf(packs) > 0 ? lostText(view, packs) : "",
        packs.resent > 0 ? `${count(packs.resent)} resent` : "",
      ]
        .filter((text) => text !== "")
        .join(", "),
    },
    chunks && { name: "chunks", value: count(chunks.done), note: chunksNote(view) },
    rate && { name: "rate", value: perSecond(rate.packsPerS), note: `${perSecond(rate.chunksPerS)} chunks` },
    {
      name: active ? "elapsed" : "took",
      value: duration(view.elapsedS + sinceS),
      ...(view.generations && { note: `${view.generations.length} generations` }),
    },
    timeLeft && {
      name: "remaining",
      value: `≈ ${left(timeLeft.expectedS)}`,
      note: `${left(timeLeft.lowS)} to ${left(timeLeft.highS)}`,
    },
    { name: "cost", value: dollars(view.dollars), note: costNote(view) },
    last && { name: active ? "led by" : "last led by", value: last.holder, note: `term ${last.term}` },
  ];
  return figures.filter((one) => one !== undefined);
}

const costNote = ({ computeDollars: compute, storageDollars: storage }: RunView): string =>
  compute === undefined ? "storage, list price" : `${dollars(storage)} storage, ${dollars(compute)} compute`;

/** Packs tell what is lost, but for chunks that their partials lack. */
function chunksNote({ packs, chunks, ...view }: RunView): string {
  const total = count(chunks?.total ?? 0);
  const lost =
    packs === undefined || chunks === undefined || lostOf(packs) > 0 || lostOf(chunks) === 0
      ? ""
      : `, ${lostText({ packs, chunks, ...view }, chunks)}`;
  return `of ${total}${lost}`;
}

/** The last answer is so old that a reader must know: some polls went unanswered. */
export const isStale = (confirmedMs: number, nowMs: number): boolean => nowMs - confirmedMs > 5_000;
