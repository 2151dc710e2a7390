import type { JSX } from "preact";
import type { Manifest } from "../../../../engine/model/run.ts";
import { usePoll } from "../../data/hooks.ts";
import { Notice } from "../../parts/parts.tsx";
import { Stale } from "../../parts/stale.tsx";
import { pathOf } from "../steer/steering.ts";
import { ResultPanel } from "./resultPanel.tsx";

/** The result of the generation that the address names, which a later one does not replace. */
export function EarlierResult(of: { readonly run: string; readonly generation: number }): JSX.Element {
  const { run, generation } = of;
  const polled = usePoll<Manifest>(`${pathOf(run)}/manifest?generation=${generation}`, () => undefined);
  const { value } = polled;
  return (
    <>
      <Notice tone="run">{`This is the result of generation ${generation}; all else on the page is of the newest.`}</Notice>
      <Stale polled={polled} />
      {value === undefined ? null : (
        <ResultPanel key={`${value.uid} ${generation}`} run={run} result={value} />
      )}
    </>
  );
}
