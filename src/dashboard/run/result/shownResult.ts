import type { RunView } from "../../../client/runView.ts";
import { olderText } from "../../../model/figures.ts";

/** Which result the page of a run shows. */
export interface ShownResult {
  /** The generation that the page names as that of the result. */
  readonly generation: number;
  /** A generation whose result the view does not have, so that it is asked for. */
  readonly earlier?: number;
  readonly result?: NonNullable<RunView["result"]>;
  /** The result is older than the newest generation, which ended without one. */
  readonly note?: string;
  /** What the newest generation has computed can be folded. */
  readonly soFar: boolean;
}

/** Pure: `asked` is the generation that the address names. */
export function shownResult(view: RunView, asked: number | undefined): ShownResult {
  const { generation: newest, result, active, packs } = view;
  const generation = asked ?? result?.generation ?? newest;
  if (generation !== result?.generation && generation < newest)
    return { generation, earlier: generation, soFar: false };
  const soFar = packs !== undefined && (active || result?.generation !== newest);
  if (result === undefined || result.generation !== generation) return { generation, soFar };
  const note = olderText(view);
  return { generation, result, soFar, ...(note === undefined ? {} : { note }) };
}
