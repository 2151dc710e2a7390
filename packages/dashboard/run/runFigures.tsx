import type { JSX } from "preact";
import type { RunView } from "../../../src/engine/client/runView.ts";
import {
  behindText,
  maxCostText,
  percent,
  progressToStop,
  sentence,
  stopText,
} from "../../../src/engine/model/figures.ts";
import { waitsText } from "../../../src/engine/model/waitsText.ts";
import { Bar, Notice } from "../parts/parts.tsx";
import { tryingText } from "./failures/failureGroups.ts";
import type { Figure } from "./liveFigures.ts";

/** How much of a run is done, as a bar. */
export function ProgressBar({ view }: { readonly view: RunView }): JSX.Element | null {
  const told = progressToStop(view);
  if (told === undefined) return null;
  const share = (part: number) => (told.total === 0 ? 0 : part / told.total);
  const text = percent(told.ended, told.total);
  return (
    <div class="progress">
      <Bar
        done={told.total === 0 ? 1 : share(told.done)}
        failed={share(told.ended - told.done)}
        label="Progress"
        text={text}
      />
      <span class="figure">{text}</span>
    </div>
  );
}

/** Figures that are read at a glance; those of an answer are large. */
export const Figures = (of: { readonly figures: readonly Figure[]; readonly large?: true }): JSX.Element => (
  <dl class={of.large ? "figures large" : "figures"}>
    {of.figures.map(({ name, value, note }) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>
          {value}
          {note === undefined || note === "" ? null : <span class="dim">{note}</span>}
        </dd>
      </div>
    ))}
  </dl>
);

/** What keeps the run from going on, or what ended it, and the cure. */
export function Words({ view }: { readonly view: RunView }): JSX.Element {
  const { behind, error, otherCode, stop, trying, waits, pauseReason } = view;
  return (
    <>
      {error === undefined ? null : (
        <Notice tone="bad" title={error.code}>
          {error.message}
        </Notice>
      )}
      {otherCode === undefined ? null : (
        <Notice tone="warn" title="Waits for other code">
          {`The run was planned by ${otherCode.needed}, and the instances that answered have ${otherCode.theirs.join(", ")}. It continues when an instance with its code is up; or cancel it and retry with the new code.`}
        </Notice>
      )}
      {view.word === "not-accepted" ? (
        <Notice tone="warn" title="Not accepted">
          Its submit broke off. The same request with the same id completes it.
        </Notice>
      ) : null}
      {stop === undefined ? null : <p class="dim">{sentence(stopText(stop))}</p>}
      {view.word === "waiting" ? <Notice tone="run">Accepted; no leader has seen it yet.</Notice> : null}
      {behind === undefined ? null : <p class="dim">{sentence(behindText(behind))}</p>}
      {pauseReason === undefined ? null : (
        <Notice tone="warn" title="Paused at its max cost">
          {maxCostText(view)}
        </Notice>
      )}
      {waits === undefined ? null : (
        <Notice tone="warn" title="Waits to be tried again">
          {waitsText(waits)}
        </Notice>
      )}
      {trying === undefined || trying.message === waits?.message ? null : (
        <Notice tone="warn" title="An attempt failed and is tried again">
          {tryingText(trying)}
        </Notice>
      )}
    </>
  );
}
