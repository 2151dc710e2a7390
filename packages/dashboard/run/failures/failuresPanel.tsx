import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Failures } from "../../../../src/engine/client/failures.ts";
import type { Logs } from "../../../../src/engine/client/logs.ts";
import type { RunView } from "../../../../src/engine/client/runView.ts";
import { count, countOf, lostOf, progressOf } from "../../../../src/engine/model/figures.ts";
import { usePoll } from "../../data/hooks.ts";
import { Panel } from "../../parts/parts.tsx";
import { Stale } from "../../parts/stale.tsx";
import { LogLines } from "../logsPanel.tsx";
import { RetryDialog } from "../steer/retryDialog.tsx";
import { canRetry, pathOf, retryButton, retryText } from "../steer/steering.ts";
import { FailureList } from "./failureList.tsx";

/** What failed, grouped by error, and one button that says what it will compute. Nothing is read while nothing failed. */
export function FailuresPanel(of: {
  readonly view: RunView;
  readonly readOnly: boolean;
  readonly onRetried: (text: string) => void;
}): JSX.Element | null {
  const { view } = of;
  const told = progressOf(view);
  const failed =
    (told !== undefined && lostOf(told) > 0) || view.phase === "failed" || view.trying !== undefined;
  if (!failed) return null;
  return <Shown {...of} />;
}

function Shown(of: Parameters<typeof FailuresPanel>[0]): JSX.Element {
  const { view, readOnly } = of;
  const [asking, setAsking] = useState(false);
  const polled = usePoll<Failures>(`${pathOf(view.run)}/failures`, () => (view.active ? 5_000 : undefined));
  const { value } = polled;
  const givenUp = view.packs?.givenUp ?? 0;
  const retry = canRetry(view) && !readOnly;
  return (
    <Panel
      title="Failures"
      class="failures"
      aside={
        value?.more === true ? <span class="chip">The first {count(value.failures.length)}, cut</span> : null
      }
    >
      <Stale polled={polled} reading="Reading the failures …" />
      {givenUp === 0 ? null : (
        <p class="dim">{`${countOf(givenUp, "pack")} given up: the run ${view.active ? "ends" : "ended"} early.`}</p>
      )}
      {value === undefined ? null : (
        <FailureList
          found={value}
          more={({ chunks: [first] }) => first && <Printed run={view.run} chunk={first.from} />}
        />
      )}
      {retry ? (
        <div class="row retry">
          <p>{retryText(view)}</p>
          <button type="button" class="primary" onClick={() => setAsking(true)}>
            {retryButton(view)} …
          </button>
        </div>
      ) : null}
      {asking ? (
        <RetryDialog
          view={view}
          onClose={() => setAsking(false)}
          onDone={(text) => {
            setAsking(false);
            of.onRetried(text);
          }}
        />
      ) : null}
    </Panel>
  );
}

const linesShown = 50;

/** What code printed while a failed chunk was computed; it is read once somebody wants to see it. */
function Printed({ run, chunk }: { readonly run: string; readonly chunk: number }): JSX.Element {
  const [open, setOpen] = useState(false);
  const path = open ? `${pathOf(run)}/logs?chunk=${chunk}&max=${linesShown}` : undefined;
  const polled = usePoll<Logs>(path, () => undefined);
  const { value } = polled;
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>What chunk {count(chunk)} printed</summary>
      <Stale polled={polled} reading="Reading what was printed …" />
      {value === undefined ? null : <LogLines lines={value.lines} />}
      {value === undefined || value.more === 0 ? null : (
        <p class="dim">{`${countOf(value.more, "more line")}: leasefold logs ${run} --chunk ${chunk}`}</p>
      )}
    </details>
  );
}
