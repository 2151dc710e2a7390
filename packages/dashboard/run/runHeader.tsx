import type { JSX } from "preact";
import type { RunView } from "../../../src/engine/client/runView.ts";
import { client, type UsedPoll, useDoing } from "../data/hooks.ts";
import { announce } from "../parts/announce.tsx";
import { CopyButton } from "../parts/copyButton.tsx";
import { stateOf } from "../parts/runState.ts";
import { Stale } from "../parts/stale.tsx";
import { StateMark } from "../parts/stateMark.tsx";
import { hashOf, type Route } from "../route.ts";
import { figuresOf, isStale } from "./liveFigures.ts";
import { saveFile } from "./result/saveFile.ts";
import { shownResult } from "./result/shownResult.ts";
import { Figures, ProgressBar, Words } from "./runFigures.tsx";
import { Controls } from "./steer/controls.tsx";
import { commandText } from "./steer/steering.ts";

type RunRoute = Extract<Route, { readonly view: "run" }>;

/**
 * The state in words, shape and color, the figures, and the controls. What is stale or cut says so. The heading is there
 * before the run is, and stays when the run is gone: it has the focus.
 */
export function RunHeader(of: {
  readonly view: RunView | undefined;
  readonly polled: UsedPoll<RunView>;
  readonly route: RunRoute;
  readonly readOnly: boolean;
}): JSX.Element {
  const { view, polled, route, readOnly } = of;
  return (
    <div class="run-header">
      <nav class="crumbs" aria-label="Breadcrumbs">
        <a href={hashOf({ view: "runs" })}>Runs</a> /{" "}
        {view === undefined ? null : (
          <>
            <a href={hashOf({ view: "runs", calculation: view.calculation })}>{view.calculation}</a> /{" "}
          </>
        )}
        <span aria-current="page">{route.run}</span>
      </nav>
      <div class="title-row">
        <h1 tabIndex={-1}>{route.run}</h1>
        {view === undefined ? null : <Marks view={view} polled={polled} route={route} />}
        <span class="grow" />
        {view === undefined || readOnly ? null : <Controls view={view} refresh={polled.refresh} />}
      </div>
      {view?.active === true ? <ProgressBar view={view} /> : null}
      {view === undefined ? null : (
        <Figures figures={figuresOf(view, performance.now() - polled.changedMs)} />
      )}
      {polled.error?.status === 404 ? null : <Stale polled={polled} />}
      {view === undefined ? null : <Words view={view} />}
    </div>
  );
}

function Marks(of: {
  readonly view: RunView;
  readonly polled: UsedPoll<RunView>;
  readonly route: RunRoute;
}): JSX.Element {
  const { view, polled, route } = of;
  const command = commandText(view);
  const state = stateOf(view);
  const stale = polled.error === undefined && view.active && isStale(polled.confirmedMs, performance.now());
  return (
    <>
      <StateMark state={state} />
      <span class="visually-hidden" role="status">
        {`${view.run}: ${state.text}`}
      </span>
      {view.generation > 1 ? <Generations view={view} route={route} /> : null}
      {command === undefined ? null : <span class="chip tone-warn">{command}</span>}
      {stale ? <span class="chip tone-warn">stale</span> : null}
      <CopyButton text={location.href} label="Copy link" what="the link" />
      {view.active ? null : <ReportButton run={view.run} />}
    </>
  );
}

function Generations({ view, route }: { readonly view: RunView; readonly route: RunRoute }): JSX.Element {
  const newest = view.generation;
  const shown = shownResult(view, route.gen).generation;
  const numbers = [...new Set([newest, newest - 1, newest - 2, 1, shown])]
    .filter((one) => one >= 1 && one <= newest)
    .sort((a, b) => b - a);
  return (
    <select
      aria-label="Generation of the result"
      value={String(shown)}
      onChange={(event) => {
        location.hash = hashOf({ ...route, gen: Number(event.currentTarget.value) });
      }}
    >
      {numbers.map((one) => (
        <option key={one} value={String(one)}>
          {`generation ${one}${one === newest ? ", newest" : ""}`}
        </option>
      ))}
    </select>
  );
}

/** Downloads the run as one file that needs no script to be read. */
function ReportButton({ run }: { readonly run: string }): JSX.Element {
  const reading = useDoing<void>();
  const busy = reading.now.kind === "busy";
  const download = async (): Promise<void> => {
    await reading.start(async (signal) => {
      try {
        const fileName = `${run}.html`;
        saveFile({ bytes: await client.run(run).report(), contentType: "text/html", fileName });
        announce(`${fileName} downloaded`);
      } catch (error) {
        if (!signal.aborted) announce(`no report: ${error instanceof Error ? error.message : String(error)}`);
      }
    });
  };
  return (
    <button type="button" class="quiet" aria-disabled={busy} onClick={() => !busy && void download()}>
      {busy ? "Writing the report …" : "Report"}
    </button>
  );
}
