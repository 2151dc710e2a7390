import type { JSX } from "preact";
import type { Mark, RunState } from "./runState.ts";

/** A state as shape, word and color: each alone is enough to tell it. */
export function StateMark({ state }: { readonly state: RunState }): JSX.Element {
  return (
    <span class={`state tone-${state.tone}`}>
      <MarkIcon mark={state.mark} />
      <span>{state.text}</span>
    </span>
  );
}

const paths: Readonly<Record<Mark, JSX.Element>> = {
  waiting: <circle cx="8" cy="8" r="5.5" stroke-dasharray="2.2 2.1" />,
  working: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path class="fill" d="M8 2.5a5.5 5.5 0 0 1 0 11z" />
    </>
  ),
  paused: <path d="M5.75 3.5v9M10.25 3.5v9" stroke-width="2.4" />,
  done: (
    <>
      <circle class="fill" cx="8" cy="8" r="6.2" />
      <path class="cut" d="m5.2 8.2 2 2 3.7-4.2" />
    </>
  ),
  gaps: (
    <>
      <circle cx="8" cy="8" r="5.5" stroke-dasharray="13 4.3" />
      <path d="m5.6 8.2 1.7 1.7 3.1-3.6" />
    </>
  ),
  failed: (
    <>
      <path class="fill" d="M5.4 1.8h5.2l3.6 3.6v5.2l-3.6 3.6H5.4l-3.6-3.6V5.4z" />
      <path class="cut" d="m5.7 5.7 4.6 4.6m0-4.6-4.6 4.6" />
    </>
  ),
  cancelled: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="m4.2 11.8 7.6-7.6" />
    </>
  ),
  attention: (
    <>
      <path d="M8 2.2 14.2 13H1.8z" />
      <path d="M8 6.4v3M8 11.2v.2" />
    </>
  ),
};

export function MarkIcon({ mark }: { readonly mark: Mark }): JSX.Element {
  return (
    <svg class="mark" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
      {paths[mark]}
    </svg>
  );
}
