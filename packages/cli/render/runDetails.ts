import type { RemainingTime } from "../../../src/engine/client/estimate/remainingTime.ts";
import type { FailureView } from "../../../src/engine/client/failures.ts";
import type { Workers } from "../../../src/engine/client/inspection/workers.ts";
import type { RunView } from "../../../src/engine/client/runView.ts";
import { billingClasses, type CallCounts, totalCalls } from "../../../src/engine/model/calls.ts";
import { cureOf } from "../../../src/engine/model/cure.ts";
import { costText, generationText, maxCostText, tagsText } from "../../../src/engine/model/figures.ts";
import { refusedText, shownIdentity } from "../../../src/engine/model/identity.ts";
import { rangesText, rangeText, sizeOf } from "../../../src/engine/model/packs.ts";
import { waitsText } from "../../../src/engine/model/waitsText.ts";
import { bar, shareOf } from "./progress.ts";
import {
  bytes,
  clip,
  count,
  countOf,
  deadlineEnd,
  duration,
  inFlightText,
  lostText,
  olderText,
  oneLine,
  paint,
  percent,
  perSecond,
  progressToStop,
  type Screen,
  stateText,
  stopText,
  styleOfWord,
  timeText,
  wrap,
} from "./text.ts";

/** `123 of 1,000 chunks (12.3 %)`; rounded down, so that 100 % means all of them. */
export function chunkShare(part: number, whole: number): string {
  const percent = whole === 0 ? 100 : Math.floor((1_000 * part) / whole) / 10;
  return `${count(part)} of ${countOf(whole, "chunk")} (${percent} %)`;
}

/** `chunk 17: attempt 2 of 5: boom (mine.ts:3); still tried`. The message names the chunk, or else `chunks` or `work` does. */
export function tryingText(one: Tried): string {
  const [, told, rest] = /^(chunks? [\d–]+|plan|finish): (.*)$/s.exec(one.message) ?? [];
  const of = one.attemptsMax === undefined ? "" : ` of ${one.attemptsMax}`;
  return `${told ?? workText(one)}: attempt ${one.attempts}${of}: ${rest ?? one.message}; still tried`;
}

type Tried = Pick<FailureView, "work" | "message" | "attempts" | "attemptsMax" | "chunks">;

/** `chunk 17`, `chunks 10–19`, or without them `pack 42`; other work by its own name. */
function workText({ work, chunks }: Pick<Tried, "work" | "chunks">): string {
  if (chunks !== undefined) return `${sizeOf(chunks) === 1 ? "chunk" : "chunks"} ${rangeText(chunks)}`;
  const [, pack] = /^\d+\/(\d+)$/.exec(work) ?? [];
  return pack === undefined ? work : `pack ${Number(pack)}`;
}

export type Fact = readonly [name: string, text: string];

/** One fact a line, names in a dim column. */
export const factLines = (
  screen: Pick<Screen, "color">,
  facts: readonly Fact[],
  nameWidth: number,
): readonly string[] =>
  facts.map(([name, text]) => `  ${paint(screen, "dim", name.padEnd(nameWidth))}${text}`);

/** `write 110, list 92`: calls by billing class, without empty classes. */
export const classesText = (calls: CallCounts, separator = ", "): string =>
  billingClasses
    .filter((one) => calls[one] > 0)
    .map((one) => `${one} ${count(calls[one])}`)
    .join(separator);

const nameWidth = 13;

/** Facts that are never clipped: the cause of an error is often at its end, and a count without its end is none. */
const wrapped: ReadonlySet<string> = new Set([
  "packs",
  "chunks",
  "calls",
  "cost",
  "max cost",
  "tags",
  "waiting",
  "stop",
  "trying",
  "error",
  "help",
  "note",
]);

/** A view with who computes the run, where heartbeats tell it. */
interface Told extends RunView {
  readonly computedBy?: Pick<Workers["runs"][number], "instances" | "threads">;
}

/** All facts of one run. Ends with a newline. */
export function runDetails(screen: Screen, view: Told): string {
  const head = `${paint(screen, "bold", view.run)}  ${paint(screen, styleOfWord(view.word), stateText(view))}`;
  const width = Math.max(20, screen.columns - nameWidth - 2);
  const facts = factsOf(view, width).flatMap(([name, text]) => {
    const lines = wrapped.has(name) ? wrap(oneLine(text), width) : [clip(oneLine(text), width)];
    return lines.map((line, index): Fact => [index === 0 ? name : "", line]);
  });
  return `${[head, ...factLines(screen, facts, nameWidth)].join("\n")}\n`;
}

function factsOf(view: Told, width: number): readonly Fact[] {
  const { packs, chunks, rate, computedBy, timeLeft, deadline, terms, command, result, error } = view;
  const facts: [string, string][] = [];
  const add = (name: string, text: string): void => void facts.push([name, text]);
  add("calculation", `${view.calculation} ${JSON.stringify(view.params)}`);
  if (view.tags !== undefined) add("tags", tagsText(view.tags));
  if (view.priority !== undefined) add("priority", view.priority);
  add("submitted", `${timeText(view.submittedAt)}${byText(view.submittedBy)}`);
  if (view.code !== undefined) add("code", shownIdentity(view.code));
  if (view.otherCode !== undefined) add("waiting", refusedText(view.otherCode));
  if (view.word === "not-accepted") add("note", "its submit broke off; submit it again with the same id");
  const told = progressToStop(view);
  if (packs !== undefined && told !== undefined) {
    const share = percent(told.ended, told.total);
    // The figure says more than the bar, so it is never cut.
    add("progress", `${bar(shareOf(view), Math.min(30, width - share.length - 1))} ${share}`);
    add("packs", `${countsOf(view, packs)}, ${count(packs.sent)} sent, ${count(packs.resent)} resent`);
  }
  if (chunks !== undefined) add("chunks", countsOf(view, chunks));
  if (view.stop !== undefined) add("stop", stopText(view.stop));
  if (rate !== undefined)
    add("rate", `${perSecond(rate.packsPerS)} packs, ${perSecond(rate.chunksPerS)} chunks`);
  if (computedBy !== undefined)
    add(
      "computed by",
      `${countOf(computedBy.instances, "instance")}, ${countOf(computedBy.threads, "thread")}`,
    );
  const inFlight = inFlightText(view, computedBy);
  if (inFlight !== "") add("in flight", inFlight);
  const over = view.generations === undefined ? "" : ` in ${view.generations.length} generations`;
  add("elapsed", `${duration(view.elapsedS)}${over}${timeLeft === undefined ? "" : `, ${leftOf(timeLeft)}`}`);
  if (view.active && deadline !== undefined) {
    add("deadline", `${timeText(deadline.at)}, then ${deadlineEnd(view)}`);
  }
  if (terms.length > 0) add("led by", ledBy(terms));
  if (view.active && view.cap !== undefined) add("cap", `${countOf(view.cap, "pack")} in flight`);
  if (view.generation > 1 && view.generations === undefined) add("generation", String(view.generation));
  if (command !== undefined) add("command", `no. ${command.number}${byText(command.by)}: ${command.answer}`);
  add("calls", callsOf(view));
  if (totalCalls(view.calls) > 0) add("cost", costText(view));
  if (view.behind !== undefined) add("waiting", `behind run ${view.behind}`);
  if (view.maxCost !== undefined) add("max cost", maxCostText(view));
  for (const one of view.generations ?? []) add("generation", generationText(one));
  if (view.waits !== undefined) add("waiting", waitsText(view.waits));
  if (view.trying !== undefined && view.trying.message !== view.waits?.message)
    add("trying", tryingText(view.trying));
  if (error !== undefined) add("error", `${error.message} (${error.code})`);
  const help = helpText(view);
  if (help !== undefined) add("help", help);
  if (result !== undefined) {
    const { contentType, sha256, mixed, code, complete, missing, notes = [] } = result;
    const older = olderText(view);
    if (older !== undefined) add("note", older);
    add("result", `${bytes(result.bytes)} ${contentType}, sha256 ${sha256.slice(0, 12)}…`);
    for (const note of notes) add("note", note);
    if (mixed === true) add("mixed", code.map(shownIdentity).join(", "));
    if (!complete) add("missing", `chunks ${rangesText(missing)}`);
  }
  return facts;
}

/** The command that helps a run that failed, and what it does. */
export function helpText({ run, calculation, phase, error }: RunView): string | undefined {
  if (phase !== "failed") return undefined;
  const { command, text } = cureOf(run, calculation, error?.code);
  return `"${command}" ${text}`;
}

const byText = (by: string | undefined): string => (by === undefined ? "" : ` by ${by}`);

const leftOf = ({ expectedS, lowS, highS }: RemainingTime): string =>
  `about ${duration(expectedS)} left (${duration(lowS)} to ${duration(highS)})`;

const countsOf = (view: RunView, of: NonNullable<RunView["chunks"]>): string =>
  `${count(of.done)} of ${count(of.total)} done, ${lostText(view, of)}`;

export const ledBy = (terms: readonly { readonly term: number; readonly holder: string }[]): string =>
  terms.map(({ term, holder }) => `${holder} (term ${term})`).join(", ");

function callsOf({ calls }: RunView): string {
  const total = totalCalls(calls);
  return total === 0 ? "none counted yet" : `${count(total)} (${classesText(calls)})`;
}
