import type { RunView } from "../../../../src/engine/client/runView.ts";
import { olderText } from "../../../../src/engine/model/figures.ts";

/**
 * Pure: which result the page of a run shows; `asked` is the generation that the address names. `earlier` is a generation whose
 * result the view does not have, so that it is asked for; `note` tells that the result is older than the newest generation,
 * which ended without one; with `soFar` what that has computed can be folded.
 */
export function shownResult(view: RunView, asked: number | undefined) {
  const { generation: newest, result, active, packs } = view;
  const generation = asked ?? result?.generation ?? newest;
  if (generation !== result?.generation && generation < newest)
    return { generation, earlier: generation, soFar: false };
  const soFar = packs !== undefined && (active || result?.generation !== newest);
  if (result === undefined || result.generation !== generation) return { generation, soFar };
  return { generation, result, soFar, note: olderText(view) };
}
