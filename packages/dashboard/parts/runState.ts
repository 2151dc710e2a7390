import type { ListedRun } from "../../../src/engine/client/runs.ts";
import { stateText } from "../../../src/engine/model/figures.ts";

/** The states of a run as a person sees them: a shape, a tone and words. */
export type Mark = "waiting" | "working" | "paused" | "done" | "gaps" | "failed" | "cancelled" | "attention";
type Tone = "idle" | "run" | "ok" | "warn" | "bad";

export interface RunState {
  readonly mark: Mark;
  readonly tone: Tone;
  readonly text: string;
}

const states: Readonly<Record<ListedRun["word"], readonly [Mark, Tone]>> = {
  waiting: ["waiting", "idle"],
  "not-accepted": ["attention", "warn"],
  planning: ["working", "run"],
  computing: ["working", "run"],
  finishing: ["working", "run"],
  cancelling: ["cancelled", "warn"],
  deleting: ["cancelled", "warn"],
  complete: ["done", "ok"],
  "complete-with-gaps": ["gaps", "warn"],
  failed: ["failed", "bad"],
  cancelled: ["cancelled", "idle"],
  unreadable: ["attention", "bad"],
  "needs-newer-version": ["attention", "warn"],
  "needs-older-version": ["attention", "warn"],
};

/** Mark, tone and text of a state. Unknown states, which newer versions write, keep their text. */
export function stateOf(run: {
  readonly word: string;
  readonly paused?: boolean;
  readonly pauseReason?: "max-cost";
  readonly keep?: boolean;
}): RunState {
  const [mark, tone] = states[run.word as ListedRun["word"]] ?? (["attention", "warn"] as const);
  const text = stateText(run);
  return run.paused === true ? { mark: "paused", tone: "warn", text } : { mark, tone, text };
}
