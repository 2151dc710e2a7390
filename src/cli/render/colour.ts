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
