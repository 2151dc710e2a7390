import type { JSX } from "preact";
import { duration } from "../../../src/engine/model/figures.ts";
import type { UsedPoll } from "../data/hooks.ts";
import { Notice } from "./parts.tsx";

/** Says that what is shown is old, or why there is nothing; a page that goes on showing old figures would lie. */
export function Stale(of: {
  readonly polled: UsedPoll<unknown>;
  /** Shown before the first answer. */
  readonly reading?: string;
}): JSX.Element | null {
  const { error, value, confirmedMs, refresh } = of.polled;
  if (of.reading !== undefined && error === undefined && value === undefined)
    return <p class="loading">{of.reading}</p>;
  if (error === undefined || error.status === 401) return null;
  const ageS = (performance.now() - confirmedMs) / 1_000;
  const title =
    value === undefined ? "Nothing could be read" : `Stale: last read ${duration(Math.round(ageS))} ago`;
  return (
    <Notice tone="bad" title={title}>
      {error.message}{" "}
      <button type="button" class="quiet" onClick={refresh}>
        Try again
      </button>
    </Notice>
  );
}
