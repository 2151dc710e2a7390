import type { LeaderView } from "../../../src/engine/client/leader.ts";
import type { RunView } from "../../../src/engine/client/runView.ts";
import { bar, shareOf } from "./progress.ts";
import {
  clip,
  count,
  dollars,
  duration,
  lostOf,
  lostWord,
  ofAllText,
  paint,
  percent,
  perSecond,
  progressToStop,
  type Screen,
  type Style,
  stateText,
  styleOfWord,
  widthOf,
} from "./text.ts";

/** What the live screen of a run shows. */
export interface RunFacts {
  readonly view: RunView;
  /** Behind the name of the run, such as its calculation. */
  readonly about: string;
  /** Undefined until it was asked for. */
  readonly leader: LeaderView | undefined;
  readonly workers: readonly WorkerFact[];
  /** Oldest first. */
  readonly notes: readonly Note[];
  /** Of a page that shows the run as well. */
  readonly address?: string | undefined;
}

/** What one instance does, and how much of it. */
export interface WorkerFact {
  readonly name: string;
  readonly doing: string;
  readonly style?: Style;
  readonly done?: string;
}

export interface Note {
  /** Since the screen began. */
  readonly atMs: number;
  readonly text: string;
  readonly style?: Style;
}

type Part = string | readonly [text: string, ...styles: Style[]];

const notesShown = 5;
const barWidth = 44;
const nameWidthMin = 9;
/** A leader writes a heartbeat once a second; one that did not for longer may be gone. */
const silentS = 2;

/** The screen of a run, each line within the width: progress, leader, what each worker computes, and the last events. */
export function renderRun(
  facts: RunFacts,
  screen: Pick<Screen, "columns" | "rows" | "color">,
): readonly string[] {
  const { view, notes, address } = facts;
  const shown = notes.slice(-notesShown);
  // What is above and below the workers, and the line of the cursor.
  const room = Math.max(1, screen.rows - 9 - shown.length - (address === undefined ? 0 : 1));
  const workers = facts.workers.slice(0, facts.workers.length > room ? room - 1 : room);
  const more = facts.workers.length - workers.length;
  const nameWidth = Math.min(24, Math.max(nameWidthMin, ...workers.map(({ name }) => name.length + 2)));
  const lines: readonly (readonly Part[])[] = [
    [[view.run, "bold"], "  ", [stateText(view), styleOfWord(view.word)], [`  ${facts.about}`, "dim"]],
    [],
    ["  ", ...progressParts(view)],
    ["  ", [paceText(view), "dim"]],
    [],
    [`  ${"leader".padEnd(nameWidth)}`, leaderPart(facts.leader, view.active)],
    ...workers.map(({ name, doing, style, done }): readonly Part[] => [
      `  ${clip(name, nameWidth - 2).padEnd(nameWidth)}`,
      style === undefined ? doing.padEnd(38) : [doing.padEnd(38), style],
      ...(done === undefined ? [] : [[done.padStart(12), "dim"] as const]),
    ]),
    ...(more > 0 ? [[`  ${count(more)} more at work`]] : []),
    ...(address === undefined ? [] : [[`  ${"watch".padEnd(nameWidth)}${address}`]]),
    ...(shown.length === 0 ? [] : [[]]),
    ...shown.map(({ atMs, text, style }): readonly Part[] => [
      "  ",
      [clockText(atMs), "dim"],
      "  ",
      style === undefined ? text : [text, style],
    ]),
  ];
  return lines.map((parts) => lineWithin(parts, screen));
}

function progressParts(view: RunView): readonly Part[] {
  const told = progressToStop(view);
  if (told === undefined) return [view.active ? "no plan yet" : stateText(view)];
  const lost = lostOf(told) > 0 ? `  ${count(lostOf(told))} ${lostWord(view)}` : "";
  const done = `${count(told.done)}/${count(told.total)}${ofAllText(view)} ${told.unit}s`;
  const text = `  ${percent(told.ended, told.total)}  ${done}`;
  return [[bar(shareOf(view), barWidth), "green"], text, [lost, "red"]];
}

/** `12.3/s packs · 0:14 · 0:18 left · $0.0012`. */
function paceText({ rate, elapsedS, timeLeft, dollars: cost }: RunView): string {
  return [
    ...(rate === undefined ? [] : [`${perSecond(rate.packsPerS)} packs`]),
    clockText(elapsedS * 1_000),
    ...(timeLeft === undefined ? [] : [`${clockText(timeLeft.expectedS * 1_000)} left`]),
    dollars(cost),
  ].join(" · ");
}

function leaderPart(leader: LeaderView | undefined, active: boolean): Part {
  if (!active) return ["nobody, there is nothing left to lead", "dim"];
  if (leader === undefined || leader.kind === "never") return ["nobody yet", "dim"];
  if (leader.kind === "unreadable") return ["its record cannot be read", "red"];
  const { holder, term, heartbeatAgeS = 0 } = leader;
  if (leader.kind === "leading" && heartbeatAgeS <= silentS) return [`${holder} in term ${term}`, "bold"];
  const who = leader.kind === "leading" ? `${holder} silent` : "no leader";
  return [` ${who} for ${duration(heartbeatAgeS)}, workers go on `, "inverse", "red"];
}

/** `0:07`. */
export function clockText(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** Clipped before it is styled, as styles add invisible characters. */
function lineWithin(parts: readonly Part[], { columns, color }: Pick<Screen, "columns" | "color">): string {
  let room = columns - 1;
  let line = "";
  for (const part of parts) {
    if (room <= 0) break;
    const [text, ...styles] = typeof part === "string" ? [part] : part;
    const cut = clip(text, room);
    room -= widthOf(cut);
    line += cut === "" ? "" : styles.reduce((painted, style) => paint({ color }, style, painted), cut);
  }
  return color ? line : line.trimEnd();
}
