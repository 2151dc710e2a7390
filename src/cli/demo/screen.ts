import { bar } from "../render/progress.ts";
import { visible } from "../render/terminal.ts";
import { clip, count, countOf, paint, percent, type Screen, type Style, widthOf } from "../render/text.ts";

export interface DemoView {
  /** Undefined until chosen. */
  readonly to: number | undefined;
  readonly cores: number;
  /** Such as starting, measuring, planning. */
  readonly stage: string;
  /** Since the start of the demo, as in the notes. */
  readonly elapsedMs: number;
  readonly packs?: { readonly done: number; readonly total: number };
  readonly packsPerS?: number;
  readonly leader: LeaderFact;
  readonly instances: readonly InstanceFact[];
  /** Of the dashboard, once it is served. */
  readonly dashboard?: string | undefined;
  /** Oldest first. */
  readonly notes: readonly Note[];
}

export type LeaderFact =
  | { readonly kind: "leading"; readonly name: string; readonly term: number; readonly forMs: number }
  | { readonly kind: "nobody"; readonly forMs: number }
  | { readonly kind: "none-yet" }
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

/** A terminal that is redrawn, or plain lines elsewhere. */
export interface DemoOutput {
  note(note: Note): void;
  /** Leaves the last picture; what follows begins below it. Idempotent. */
  end(): Promise<void>;
}

const drawEveryMs = 125;
const plainEveryMs = 3_000;
const showCursor = "\u001b[?25h";
const hideCursor = "\u001b[?25l";

export const demoOutput = (screen: Screen, view: () => DemoView): DemoOutput =>
  screen.isTty ? drawn(screen, view) : plain(screen, view);

function plain(screen: Screen, view: () => DemoView): DemoOutput {
  const timer = setInterval(() => {
    if (view().to !== undefined) void screen.write(`      ${plainProgress(view())}\n`);
  }, plainEveryMs);
  return {
    note: (note) => void screen.write(`${plainNote(note)}\n`),
    end: async () => clearInterval(timer),
  };
}

function drawn(screen: Screen, view: () => DemoView): DemoOutput {
  let linesAbove = 0;
  let ended = false;
  const draw = () => {
    const lines = renderDemo(view(), screen);
    const up = linesAbove === 0 ? "" : `\u001b[${linesAbove}F`;
    linesAbove = lines.length;
    // Clearing each line after its text, not before, avoids flicker.
    const text = lines.map((line) => `${visible(line)}\u001b[K\n`).join("");
    screen.draw(`${hideCursor}${up}${text}\u001b[J`);
  };
  const timer = setInterval(draw, drawEveryMs);
  // Restores the cursor however the process ends.
  const restore = () => screen.draw(showCursor);
  process.once("exit", restore);
  draw();
  return {
    note: () => undefined,
    async end() {
      if (ended) return;
      ended = true;
      clearInterval(timer);
      draw();
      process.off("exit", restore);
      screen.draw(showCursor);
    },
  };
}

type Part = string | readonly [text: string, ...styles: Style[]];

const notesShown = 5;
const labelWidth = 9;
const barWidth = 44;

/** The screen of the demo, each line within the width. The number of lines grows with the dashboard and with `notes`. */
export function renderDemo(view: DemoView, screen: Pick<Screen, "columns" | "color">): readonly string[] {
  const { to, cores, packs, stage, leader, instances, notes } = view;
  const what = to === undefined ? "counting primes" : `primes up to ${count(to)}`;
  const progress: readonly Part[] =
    packs === undefined
      ? [stage]
      : [[bar(packs.done / packs.total, barWidth), "green"], "  ", progressText(packs)];
  const lines: readonly (readonly Part[])[] = [
    [
      ["Leasefold demo", "bold"],
      [` · ${what} · ${countOf(instances.length, "instance")}, ${countOf(cores, "core")}`, "dim"],
    ],
    [],
    ["  ", ...progress],
    ["  ", [paceText(view), "dim"]],
    [],
    [`  ${"leader".padEnd(labelWidth)}`, leaderPart(leader)],
    ...instances.map(instanceParts),
    ...(view.dashboard === undefined ? [] : [[`  ${"watch".padEnd(labelWidth)}${view.dashboard}`]]),
    [],
    ...notes.slice(-notesShown).map(noteParts),
  ];
  return lines.map((parts) => lineWithin(parts, screen));
}

/** Progress on one line, for outputs that cannot be redrawn. */
export function plainProgress(view: DemoView): string {
  const { packs, leader, stage } = view;
  const share = packs === undefined ? stage : progressText(packs);
  const leads =
    leader.kind === "leading" ? `${leader.name} leads in term ${leader.term}` : leaderPart(leader)[0].trim();
  return [share, paceText(view), leads].filter((part) => part !== "").join(" · ");
}

export const plainNote = ({ atMs, text }: Note): string => `${clockText(atMs)}  ${text}`;

const progressText = ({ done, total }: { done: number; total: number }): string =>
  `${percent(done, total)}  ${count(done)}/${count(total)} packs`;

/** `32.00 billion numbers/s · 6.4 packs/s · 0:14 · 0:18 left`. */
function paceText({ packs, packsPerS, to, elapsedMs, stage }: DemoView): string {
  if (packs === undefined) return clockText(elapsedMs);
  const remaining = packs.total - packs.done;
  if (remaining <= 0) return `${stage} · ${clockText(elapsedMs)}`;
  if (packsPerS === undefined) return clockText(elapsedMs);
  return [
    ...(to === undefined ? [] : [rateText((packsPerS * to) / packs.total)]),
    `${packsPerS.toFixed(1)} packs/s`,
    clockText(elapsedMs),
    ...(packsPerS > 0 ? [`${clockText((remaining * 1_000) / packsPerS)} left`] : []),
  ].join(" · ");
}

function rateText(rate: number): string {
  if (rate >= 1e9) return `${(rate / 1e9).toFixed(2)} billion numbers/s`;
  if (rate >= 1e6) return `${(rate / 1e6).toFixed(1)} million numbers/s`;
  return `${count(rate)} numbers/s`;
}

function leaderPart(leader: LeaderFact): readonly [text: string, ...styles: Style[]] {
  switch (leader.kind) {
    case "leading":
      return [`${leader.name} in term ${leader.term}, for ${seconds(leader.forMs)}`, "bold"];
    case "nobody":
      return [` no leader for ${seconds(leader.forMs)}, workers go on `, "inverse", "red"];
    case "none-yet":
      return ["nobody yet", "dim"];
    case "not-needed":
      return ["nobody, there is nothing left to lead", "dim"];
  }
}

/** Always with one decimal, so that the text does not jump. */
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

const instanceStyles = { leading: "bold", working: "green", idle: "dim", gone: "red" } as const;

const instanceParts = ({ name, doing, mood, packs }: InstanceFact): readonly Part[] => [
  `  ${name.padEnd(labelWidth)}`,
  [doing.padEnd(38), instanceStyles[mood]],
  [countOf(packs, "pack").padStart(12), "dim"],
];

const noteParts = ({ atMs, text, mood }: Note): readonly Part[] => [
  "  ",
  [clockText(atMs), "dim"],
  "  ",
  mood === "plain" ? text : [text, mood === "bad" ? "red" : "green"],
];

/** `0:07`. */
function clockText(ms: number): string {
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
