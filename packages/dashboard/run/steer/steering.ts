import type { RunView } from "../../../../src/engine/client/runView.ts";
import { inputsChanged, planLost } from "../../../../src/engine/model/errors.ts";
import { count, countOf } from "../../../../src/engine/model/figures.ts";

/** What can be done with a run, in words that say what it will do. */
export type Verb = "pause" | "resume" | "cap" | "cancel" | "retry" | "verify" | "delete";

/** What a dialog needs: the run, how to send its request, and what to do afterwards. */
export interface DialogPorts {
  readonly view: RunView;
  readonly onClose: () => void;
  /** The request was accepted: the run is read again. */
  readonly onDone: (text: string) => void;
}

/** `runs/ID` as the API names it. */
export const pathOf = (run: string): string => `runs/${encodeURIComponent(run)}`;

/** The controls that make sense for a run now, in the order in which they stand. */
export function verbsOf(view: RunView): readonly Verb[] {
  if (view.word === "deleting") return [];
  if (view.word === "not-accepted") return ["delete"];
  if (view.active) return [...steeringOf(view), "delete"];
  return [
    ...(canRetry(view) ? (["retry"] as const) : []),
    ...(view.result ? (["verify"] as const) : []),
    "delete",
  ];
}

/** None that a leader would answer with `too-late`: a run that ends, or finishes with what is done, sends no more packs. */
function steeringOf({ word, phase, keep, paused, pauseReason, command }: RunView): readonly Verb[] {
  if (word === "cancelling" || phase === "finishing") return [];
  // Past its deadline it can still end without a result, which after a cancel that keeps what is done it cannot.
  if (keep) return command?.want === "cancelled" ? [] : ["cancel"];
  return [paused && pauseReason === undefined ? "resume" : "pause", "cap", "cancel"];
}

export const canRetry = (view: RunView): boolean =>
  !view.active &&
  (view.phase !== "complete" || view.word === "complete-with-gaps") &&
  !lost.includes(view.error?.code ?? "");

/** Of these the app refuses a retry: it would meet the same again. */
const lost = [inputsChanged, planLost];

export const verbText: Readonly<Record<Verb, string>> = {
  pause: "Pause",
  resume: "Resume",
  cap: "Cap",
  cancel: "Cancel",
  retry: "Retry",
  verify: "Verify",
  delete: "Delete",
};

/** What a retry will compute: the packs without a partial, and those whose partials lack chunks. */
export function retryText(view: RunView): string {
  const { packs, chunks, generation } = view;
  const next = `generation ${generation + 1}`;
  if (packs === undefined || chunks === undefined)
    return `The run was never planned: a retry plans it and computes all of it, as ${next}.`;
  const missing = packs.total - packs.done;
  const neverDone = missing - packs.failed;
  const lacking = countOf(chunks.total - chunks.done, "chunk");
  if (missing === 0 && chunks.done === chunks.total)
    return `Every pack has its partial: a retry only folds them again, as ${next}.`;
  if (missing === 0)
    return `Computes the packs whose partials lack ${lacking}. The result is that of ${next}.`;
  const parts = [
    packs.failed > 0 ? `${count(packs.failed)} failed` : "",
    neverDone > 0 ? `${count(neverDone)} never finished` : "",
  ].filter((part) => part !== "");
  return (
    `Computes ${countOf(missing, "pack")} (${lacking}) without a partial: ${parts.join(", ")}. ` +
    `The ${count(packs.done)} done stay as they are. The result is that of ${next}.`
  );
}

/** The one button of the failures: `Retry 3 packs`. */
export function retryButton({ packs }: RunView): string {
  const missing = packs === undefined ? 0 : packs.total - packs.done;
  return missing === 0 ? "Retry" : `Retry ${countOf(missing, "pack")}`;
}

/** What each of the others will do, before it is done. */
export function wordsOf(verb: Exclude<Verb, "retry" | "resume" | "pause">, view: RunView): string {
  const done =
    view.packs === undefined
      ? ""
      : ` ${count(view.packs.done)} of ${countOf(view.packs.total, "pack")} ${view.packs.done === 1 ? "is" : "are"} done.`;
  switch (verb) {
    case "cap":
      return "At most this many packs are in flight at once. Packs already in flight finish; other runs get the workers that become free. A run that is paused at its max cost goes on with a higher one.";
    case "cancel":
      return `Ends the run before it is done.${done}`;
    case "verify":
      return "Workers compute a random sample of packs again, and the hashes are compared with those of the result. This costs computing time and changes nothing.";
    case "delete":
      return `Deletes the run with its plan, partials and ${view.result ? "result" : "failures"}. This cannot be undone.`;
  }
}

const wantText = { run: "run", paused: "pause", cancelled: "cancel", delete: "delete" } as const;

/** What became of the last command, while that is news. */
export function commandText({ command, active }: RunView): string | undefined {
  if (command === undefined) return undefined;
  const name = command.want === undefined ? "command" : wantText[command.want];
  if (command.answer === "pending") return `${name}: asked, a leader has not answered yet`;
  if (command.answer === "too-late") return active ? `${name}: too late` : undefined;
  return command.answer === "refused" ? `${name}: refused by the leader` : undefined;
}
