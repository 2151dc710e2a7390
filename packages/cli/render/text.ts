import { styleText } from "node:util";
import cliTruncate from "cli-truncate";
import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";
import type { ListedRun } from "../../../src/engine/client/runs.ts";

export * from "../../../src/engine/model/figures.ts";

/** Where a command writes: a terminal, a pipe or a file. */
export interface Screen {
  readonly isTty: boolean;
  /** Infinite where it is no terminal, as nothing is cut for a program. */
  readonly columns: number;
  /** Lines of a terminal; infinite elsewhere. */
  readonly rows: number;
  readonly color: boolean;
  /** Resolves when the text was taken, so that a slow reader slows a stream down. */
  write(text: string | Uint8Array): Promise<void>;
  /** Writes cursor movements of our own to a terminal; what others chose of the text has passed `visible`. */
  draw(text: string): void;
}

export type Style = "bold" | "dim" | "green" | "red" | "yellow" | "cyan" | "inverse";

/** Plain where the screen shows no color. */
export const paint = (screen: Pick<Screen, "color">, style: Style, text: string): string =>
  screen.color ? styleText(style, text, { validateStream: false }) : text;

const styles: Readonly<Record<ListedRun["word"], Style>> = {
  waiting: "dim",
  "not-accepted": "yellow",
  planning: "cyan",
  computing: "cyan",
  finishing: "cyan",
  cancelling: "yellow",
  deleting: "yellow",
  complete: "green",
  "complete-with-gaps": "yellow",
  failed: "red",
  cancelled: "yellow",
  unreadable: "red",
  "needs-newer-version": "yellow",
  "needs-older-version": "yellow",
};

/** Each state of a run has the same color everywhere. */
export const styleOfWord = (word: keyof typeof styles): Style => styles[word];

/** Text on one line without control characters: errors of calculations and messages of queues may hold any text. */
export const oneLine = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these must not reach a terminal.
  text.replace(/[\s\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g, " ").trim();

/** Columns that a text takes on a terminal: a wide character or emoji takes two, a combining mark none. */
export const widthOf = (text: string): number => stringWidth(text);

export const padEnd = (text: string, width: number): string =>
  text + " ".repeat(Math.max(0, width - widthOf(text)));

/** Cut to a width, with an ellipsis. */
export const clip = (text: string, width: number): string =>
  widthOf(text) <= width ? text : cliTruncate(text, Math.max(1, width));

/** Lines of whole words; a word longer than a line is split. A line has at least one character, however small the room. */
export const wrap = (text: string, room: number): string[] =>
  widthOf(text) <= room ? [text] : wrapAnsi(text, Math.max(1, room), { hard: true }).split("\n");

/** The time of day here: `14:03:59`. */
export const clockTime = (wallMs: number): string => new Date(wallMs).toTimeString().slice(0, 8);

/** As a shell takes it and runs none of it: in quotes where it has more than names and paths have, in single ones for what double ones let through. */
export function shellText(text: string): string {
  const shown = oneLine(text);
  if (/^[\w./:@=,+-]+$/.test(shown)) return shown;
  return /[$`"\\!]/.test(shown) ? `'${shown.replaceAll("'", `'\\''`)}'` : `"${shown}"`;
}
