import { styleText } from "node:util";
import type { RunWord } from "../../client/runView.ts";

export { bytes, count, dollars, duration, percent, perSecond } from "../../model/figures.ts";

/** Where a command writes: a terminal, a pipe or a file. */
export interface Screen {
  readonly isTty: boolean;
  readonly columns: number;
  readonly color: boolean;
  /** Resolves when the text was taken, so that a slow reader slows a stream down. */
  write(text: string | Uint8Array): Promise<void>;
}

export type Style = "bold" | "dim" | "green" | "red" | "yellow" | "cyan" | "inverse";

/** Plain where the screen shows no color. */
export const paint = (screen: Pick<Screen, "color">, style: Style, text: string): string =>
  screen.color ? styleText(style, text, { validateStream: false }) : text;

const styles: Readonly<Record<RunWord | "unreadable" | "needs-newer-version", Style>> = {
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
};

/** Each state of a run has the same color everywhere. */
export const styleOfWord = (word: keyof typeof styles): Style => styles[word];

/** Text on one line without control characters: errors of calculations and messages of queues may hold any text. */
export const oneLine = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these must not reach a terminal.
  text.replace(/[\s\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g, " ").trim();

/** Cut to a width, with an ellipsis. */
export const clip = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;

/** Lines of whole words; a word longer than a line is split. A line has at least one character, however small the room. */
export function wrap(text: string, room: number): string[] {
  const width = Math.max(1, room);
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + Math.min(word.length, width) > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
    for (; line.length > width; line = line.slice(width)) lines.push(line.slice(0, width));
  }
  return [...lines, line];
}
