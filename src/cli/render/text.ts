import { styleText } from "node:util";
import type { RunWord } from "../../client/runView.ts";
import type { Screen } from "../cli.ts";

export type Style = "bold" | "dim" | "green" | "red" | "yellow" | "cyan" | "inverse";

/** Plain where the screen shows no colour. */
export const paint = (screen: Pick<Screen, "colour">, style: Style, text: string): string =>
  screen.colour ? styleText(style, text, { validateStream: false }) : text;

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

/** Each state of a run has one colour everywhere. */
export const styleOfWord = (word: keyof typeof styles): Style => styles[word];

/**
 * Text of a stored record, an error or a message on one line, without anything that a terminal would obey: what
 * a calculation throws and what lies in a queue is anybody's text.
 */
export const oneLine = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these must not reach a terminal.
  text.replace(/[\s\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g, " ").trim();

/** Cut to a width, with a sign that something is missing. */
export const clip = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;

/** Lines of whole words; a word that is too long for a line is cut into it. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ").flatMap((one) => pieces(one, width))) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

function pieces(word: string, width: number): string[] {
  const cut: string[] = [];
  for (let at = 0; at < word.length; at += width) cut.push(word.slice(at, at + width));
  return cut.length === 0 ? [""] : cut;
}
