import type { RemainingTime } from "../../client/estimate/remainingTime.ts";
import type { RunView } from "../../client/runView.ts";
import { billingClasses, totalCalls } from "../../model/calls.ts";
import { refusedText, shownIdentity } from "../../model/identity.ts";
import { type Range, rangeText, sizeOf } from "../../model/packs.ts";
import type { Screen } from "../cli.ts";
import { bytes, count, dollars, duration, percent, perSecond } from "./amounts.ts";
import { bar, shareOf, stateOf } from "./progress.ts";
import { clip, oneLine, paint, styleOfWord, wrap } from "./text.ts";

/** More ranges than these are counted and not shown. */
const rangesShown = 8;

/** `0–99, 200–222, 300`, with the last of each range in it; of many the first few: `…, and 42 more`. */
export function rangesText(ranges: readonly Range[]): string {
  const shown = ranges.slice(0, rangesShown).map(rangeText);
  const more = ranges.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${count(more)} more`] : [])].join(", ");
}

/** `123 of 1,000 chunks (12.3 %)`; rounded down, so that 100 % means all of it. */
export function chunkShare(part: number, whole: number): string {
  const percent = whole === 0 ? 100 : Math.floor((1_000 * part) / whole) / 10;
  return `${count(part)} of ${count(whole)} chunks (${percent} %)`;
}

/** `chunk 17: attempt 2 of 5: boom (mine.ts:3); still tried`. The message names the chunk, or `chunks` or `work` does. */
export function tryingText(one: {
  /** As in failure records: `00003/00000042`, `node/1/00003`, `plan` or `finish`. */
  readonly work: string;
  readonly message: string;
  readonly attempts: number;
  readonly attemptsMax?: number | undefined;
  readonly chunks?: Range | undefined;
}): string {
  const [, told, rest] = /^(chunks? [\d–]+|plan|finish): (.*)$/s.exec(one.message) ?? [];
  const of = one.attemptsMax === undefined ? "" : ` of ${one.attemptsMax}`;
  return `${told ?? placeOf(one)}: attempt ${one.attempts}${of}: ${rest ?? one.message}; still tried`;
}

/** `chunk 17` or `chunks 10–19` where that is known, else `pack 42`; what is no pack by its own name. */
function placeOf({ work, chunks }: { readonly work: string; readonly chunks?: Range | undefined }): string {
  if (chunks !== undefined) return `${sizeOf(chunks) === 1 ? "chunk" : "chunks"} ${rangeText(chunks)}`;
  const [, pack] = /^\d+\/(\d+)$/.exec(work) ?? [];
  return pack === undefined ? work : `pack ${Number(pack)}`;
}

const nameWidth = 13;

/** The point of an error often stands at its end. */
const wrapped: ReadonlySet<string> = new Set(["waiting", "trying", "error"]);

/** Everything about one run, one fact a line. Ends with a newline. */
export function runDetails(screen: Screen, view: RunView): string {
  const head = `${paint(screen, "bold", view.run)}  ${paint(screen, styleOfWord(view.word), stateOf(view))}`;
  const width = Math.max(20, screen.columns - nameWidth - 2);
  const lines = factsOf(view).flatMap(([name, text]) => {
    const values = wrapped.has(name) ? wrap(oneLine(text), width) : [clip(oneLine(text), width)];
    return values.map((value, at) => {
      const title = (at === 0 ? name : "").padEnd(nameWidth);
      return `  ${paint(screen, "dim", title)}${value}`;
    });
  });
  return `${[head, ...lines].join("\n")}\n`;
}

function factsOf(view: RunView): readonly (readonly [string, string])[] {
  const { packs, chunks, rate, command, result, error } = view;
  const facts: [string, string][] = [["calculation", `${view.calculation} ${JSON.stringify(view.params)}`]];
  if (view.code !== undefined) facts.push(["code", shownIdentity(view.code)]);
  if (view.otherCode !== undefined) facts.push(["waiting", refusedText(view.otherCode)]);
  if (view.word === "not-accepted")
    facts.push(["note", "its submit broke off; submit it again with the same id"]);
  if (packs !== undefined) {
    const ended = packs.done + packs.failed;
    facts.push(["progress", `${bar(shareOf(view), 30)} ${percent(ended, packs.total)}`]);
    facts.push(["packs", `${countsOf(packs)}, ${count(packs.sent)} sent, ${count(packs.again)} sent again`]);
  }
  if (chunks !== undefined) facts.push(["chunks", countsOf(chunks)]);
  if (rate !== undefined) {
    facts.push(["rate", `${perSecond(rate.packsPerS)} packs, ${perSecond(rate.chunksPerS)} chunks`]);
  }
  const left = view.timeLeft === undefined ? "" : `, ${leftOf(view.timeLeft)}`;
  facts.push(["elapsed", `${duration(view.elapsedS)}${left}`]);
  if (view.active && view.deadline !== undefined) {
    const then = view.deadline.keep ? "then finishes with what is done" : "then fails";
    facts.push(["deadline", `${view.deadline.at.slice(0, 19).replace("T", " ")} UTC, ${then}`]);
  }
  if (view.terms.length > 0) {
    facts.push(["led by", view.terms.map(({ term, holder }) => `${holder} (term ${term})`).join(", ")]);
  }
  if (view.active && view.cap !== undefined) facts.push(["cap", `${count(view.cap)} packs in flight`]);
  if (view.generation > 1) facts.push(["generation", String(view.generation)]);
  if (command !== undefined) facts.push(["command", `no. ${command.number}: ${command.answer}`]);
  facts.push(["calls", callsOf(view)]);
  if (view.trying !== undefined) facts.push(["trying", tryingText(view.trying)]);
  if (error !== undefined) facts.push(["error", `${error.message} (${error.code})`]);
  if (result !== undefined) {
    facts.push([
      "result",
      `${bytes(result.bytes)} ${result.contentType}, sha256 ${result.sha256.slice(0, 12)}…`,
    ]);
    if (result.mixed === true) facts.push(["mixed", result.code.map(shownIdentity).join(", ")]);
    if (!result.complete) facts.push(["missing", `chunks ${rangesText(result.missing)}`]);
  }
  return facts;
}

const leftOf = ({ expectedS, lowS, highS }: RemainingTime): string =>
  `about ${duration(expectedS)} left (${duration(lowS)} to ${duration(highS)})`;

const countsOf = (of: { total: number; done: number; failed: number }): string =>
  `${count(of.done)} of ${count(of.total)} done, ${count(of.failed)} failed`;

function callsOf({ calls, dollars: cost }: RunView): string {
  const total = totalCalls(calls);
  if (total === 0) return "none counted yet";
  const parts = billingClasses.filter((one) => calls[one] > 0).map((one) => `${one} ${count(calls[one])}`);
  return `${count(total)}, about ${dollars(cost)} (${parts.join(", ")})`;
}
