import type { Screen } from "../cli.ts";
import { count, percent } from "../render/amounts.ts";
import { bar } from "../render/progress.ts";
import { clip, paint, type Style } from "../render/text.ts";

/** All that the demo shows at one moment; what draws it needs nothing else. */
export interface DemoView {
  /** Undefined while it is not chosen. */
  readonly to: number | undefined;
  readonly cores: number;
  /** What goes on as a whole: starting, measuring, counting. */
  readonly stage: string;
  /** Since the start of the demo, as in the notes. */
  readonly elapsedMs: number;
  readonly packs?: { readonly done: number; readonly total: number };
  readonly packsPerS?: number;
  readonly leader: LeaderFact;
  readonly instances: readonly InstanceFact[];
  /** Oldest first. */
  readonly notes: readonly Note[];
}

export type LeaderFact =
  | { readonly kind: "leading"; readonly name: string; readonly term: number; readonly forMs: number }
  /** There was one. */
  | { readonly kind: "nobody"; readonly forMs: number }
  | { readonly kind: "none-yet" }
  /** The run is over. */
  | { readonly kind: "not-needed" };

export interface InstanceFact {
  readonly name: string;
  readonly doing: string;
  readonly mood: "leading" | "working" | "idle" | "gone";
  readonly packs: number;
}

export interface Note {
  readonly atMs: number;
  readonly text: string;
  readonly mood: "plain" | "bad" | "good";
}

type Look = Pick<Screen, "columns" | "colour">;
type Part = string | readonly [text: string, style: Style | "alarm"];

const notesShown = 5;
const labelWidth = 9;
const barWidth = 44;

/** The screen of the demo, line by line, each within the width. The number of lines changes only with `notes`. */
export function renderDemo(view: DemoView, look: Look): readonly string[] {
  const line = (...parts: readonly Part[]) => within(parts, look);
  const { to, instances, cores } = view;
  const what = to === undefined ? "counting primes" : `primes up to ${count(to)}`;
  return [
    line(["Leasefold demo", "bold"], [` · ${what} · ${instances.length} instances, ${cores} cores`, "dim"]),
    "",
    line("  ", ...progressParts(view)),
    line("  ", [paceOf(view), "dim"]),
    "",
    line(`  ${"leader".padEnd(labelWidth)}`, leaderPart(view.leader)),
    ...instances.map((one) => line(`  ${one.name.padEnd(labelWidth)}`, ...instanceParts(one))),
    "",
    ...view.notes.slice(-notesShown).map((note) => line("  ", ...noteParts(note))),
  ];
}

/** One line where a screen cannot be drawn over. */
export function plainProgress(view: DemoView): string {
  const { packs, leader } = view;
  const share = packs === undefined ? view.stage : progressText(packs);
  const leads =
    leader.kind === "leading" ? `${leader.name} leads in term ${leader.term}` : leaderPart(leader)[0].trim();
  return [share, paceOf(view), leads].filter((part) => part !== "").join(" · ");
}

export const plainNote = ({ atMs, text }: Note): string => `${clockOf(atMs)}  ${text}`;

function progressParts({ packs, stage }: DemoView): readonly Part[] {
  if (packs === undefined) return [stage];
  return [[bar(packs.done / packs.total, barWidth), "green"], "  ", progressText(packs)];
}

const progressText = ({ done, total }: { done: number; total: number }): string =>
  `${percent(done, total)}  ${count(done)}/${count(total)} packs`;

function paceOf({ packs, packsPerS, to, elapsedMs, stage }: DemoView): string {
  const parts: string[] = [];
  if (packs !== undefined && packsPerS !== undefined && packs.done < packs.total) {
    if (to !== undefined) parts.push(numbersPerS((packsPerS * to) / packs.total));
    parts.push(`${packsPerS.toFixed(1)} packs/s`);
  }
  if (packs !== undefined && packs.done >= packs.total) parts.push(stage);
  parts.push(clockOf(elapsedMs));
  if (packs !== undefined && packsPerS !== undefined && packsPerS > 0 && packs.done < packs.total) {
    parts.push(`${clockOf(((packs.total - packs.done) * 1_000) / packsPerS)} left`);
  }
  return parts.join(" · ");
}

function numbersPerS(rate: number): string {
  if (rate >= 1e9) return `${(rate / 1e9).toFixed(2)} billion numbers/s`;
  if (rate >= 1e6) return `${(rate / 1e6).toFixed(1)} million numbers/s`;
  return `${count(rate)} numbers/s`;
}

function leaderPart(leader: LeaderFact): readonly [string, Style | "alarm"] {
  switch (leader.kind) {
    case "leading":
      return [`${leader.name} in term ${leader.term}, for ${seconds(leader.forMs)}`, "bold"];
    case "nobody":
      return [` no leader for ${seconds(leader.forMs)}, workers go on `, "alarm"];
    case "none-yet":
      return ["nobody yet", "dim"];
    case "not-needed":
      return ["nobody, there is nothing left to lead", "dim"];
  }
}

/** Always one digit behind the point, so that the text does not jump while it counts. */
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

const moods: Readonly<Record<InstanceFact["mood"], Style>> = {
  leading: "bold",
  working: "green",
  idle: "dim",
  gone: "red",
};

const instanceParts = ({ doing, mood, packs }: InstanceFact): readonly Part[] => [
  [doing.padEnd(38), moods[mood]],
  [`${count(packs)} packs`.padStart(12), "dim"],
];

const noteParts = ({ atMs, text, mood }: Note): readonly Part[] => [
  [clockOf(atMs), "dim"],
  "  ",
  mood === "plain" ? text : [text, mood === "bad" ? "red" : "green"],
];

/** `0:07`. */
function clockOf(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** Cut by what is seen, then coloured, which adds characters that nobody sees. */
function within(parts: readonly Part[], { columns, colour }: Look): string {
  let left = columns - 1;
  let text = "";
  for (const part of parts) {
    const [plain, style] = typeof part === "string" ? [part, undefined] : part;
    if (left <= 0) break;
    const cut = clip(plain, left);
    left -= cut.length;
    text += style === undefined || cut === "" ? cut : styled(style, cut, colour);
  }
  return colour ? text : text.trimEnd();
}

const styled = (style: Style | "alarm", text: string, colour: boolean): string =>
  style === "alarm"
    ? paint({ colour }, "red", paint({ colour }, "inverse", text))
    : paint({ colour }, style, text);
