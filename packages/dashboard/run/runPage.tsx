import { Fragment, type JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { PackMap } from "../../../src/engine/client/inspection/packMap.ts";
import type { Timeline } from "../../../src/engine/client/inspection/timeline.ts";
import type { Workers } from "../../../src/engine/client/inspection/workers.ts";
import type { RunView } from "../../../src/engine/client/runView.ts";
import { inFlightText, sentence } from "../../../src/engine/model/figures.ts";
import { serviceNowMs, type UsedPoll, usePoll, useTick } from "../data/hooks.ts";
import { Empty, Notice, Panel } from "../parts/parts.tsx";
import { Stale } from "../parts/stale.tsx";
import { hashOf, type Route } from "../route.ts";
import { CostPanel } from "./costPanel.tsx";
import { DurationsPanel } from "./durationsPanel.tsx";
import { FailuresPanel } from "./failures/failuresPanel.tsx";
import { LogsPanel } from "./logsPanel.tsx";
import type { AtWork } from "./map/packMap.ts";
import { PackMapView } from "./map/packMapView.tsx";
import { chartOf } from "./progress/chart.ts";
import { ProgressChart } from "./progress/progressChart.tsx";
import { RequestPanel } from "./requestPanel.tsx";
import { AnswerPanel } from "./result/answerPanel.tsx";
import { EarlierResult, ResultPanel } from "./result/resultPanel.tsx";
import { shownResult } from "./result/shownResult.ts";
import { RunHeader } from "./runHeader.tsx";
import { pathOf } from "./steer/steering.ts";

type RunRoute = Extract<Route, { readonly view: "run" }>;

const openMs = 1_000;
const detailMs = 3_000;
/** A closed run changes only by a retry or a deletion of somebody else. */
const closedMs = 15_000;

/** One run in depth. Its view is asked for once a second while it works; the map and the timeline every few seconds. */
export function RunPage(of: { readonly route: RunRoute; readonly readOnly: boolean }): JSX.Element {
  const { route, readOnly } = of;
  const path = pathOf(route.run);
  const polled = usePoll<RunView>(path, ({ value }) => (value?.active === false ? closedMs : openMs));
  const view = polled.value;
  useTick(1_000, view?.active === true || polled.error !== undefined);
  const gone = polled.error?.status === 404;
  const shown = gone ? undefined : view;
  return (
    <>
      <RunHeader view={shown} polled={polled} route={route} readOnly={readOnly} />
      {gone ? <Gone deleted={view !== undefined} /> : null}
      {shown === undefined ? null : <Body route={route} view={shown} polled={polled} readOnly={readOnly} />}
      {view === undefined && polled.error === undefined ? <p class="loading">Reading the run …</p> : null}
    </>
  );
}

function Body(of: {
  readonly route: RunRoute;
  readonly view: RunView;
  readonly polled: UsedPoll<RunView>;
  readonly readOnly: boolean;
}): JSX.Element {
  const { route, view, polled, readOnly } = of;
  const path = pathOf(view.run);
  const everyMs = () => (view.active ? detailMs : undefined);
  const planned = view.packs !== undefined && view.packs.total > 0;
  const map = usePoll<PackMap>(planned ? `${path}/map` : undefined, everyMs);
  const found = usePoll<Workers>(view.active ? "workers" : undefined, everyMs);
  const computedBy = found.value?.runs.find(({ uid }) => uid === view.uid);
  const inFlight = found.value === undefined ? "" : inFlightText(view, computedBy);
  const timeline = usePoll<Timeline>(`${path}/timeline`, everyMs);
  // What ends a run, a retry of it and a new term are shown without waiting for the next turn.
  const turn = `${view.active} ${view.generation} ${view.terms.length}`;
  useEffect(() => {
    map.refresh();
    timeline.refresh();
  }, [turn]);
  const { earlier, result, note, soFar } = shownResult(view, route.gen);
  const failures = (
    <FailuresPanel key="failures" view={view} readOnly={readOnly} onRetried={polled.refresh} />
  );
  const answer = (
    <Fragment key="answer">
      {earlier === undefined ? null : <EarlierResult run={view.run} generation={earlier} />}
      {note === undefined ? null : <Notice tone="warn">{sentence(note)}</Notice>}
      {result === undefined ? null : (
        <ResultPanel key={`${view.uid} ${result.generation}`} run={view.run} result={result} />
      )}
    </Fragment>
  );
  // What a run that has ended is opened for stands first.
  const first = view.phase === "failed" ? [failures, answer] : [answer, failures];
  return (
    <div class="columns">
      <div class="main">
        {view.active ? null : first}
        <ProgressPanel view={view} timeline={timeline} />
        {planned ? (
          <Panel title="Packs" aside={<MapAside map={map.value} route={route} view={view} />}>
            <Stale polled={map} />
            {inFlight === "" ? null : (
              <p class="dim">
                in flight <a href={hashOf({ view: "system" })}>{inFlight}</a>
              </p>
            )}
            {map.value === undefined ? (
              <p class="loading">Reading the map …</p>
            ) : (
              <PackMapView
                map={map.value}
                view={view}
                atWork={atWorkOf(view, found)}
                shard={route.shard}
                onShard={(shard) => choose(route, shard)}
              />
            )}
          </Panel>
        ) : null}
        {view.active ? failures : null}
        <LogsPanel view={view} />
        <DurationsPanel view={view} />
      </div>
      <div class="side">
        {view.active ? answer : null}
        {soFar ? <AnswerPanel view={view} /> : null}
        <CostPanel view={view} readOnly={readOnly} />
        <RequestPanel view={view} readOnly={readOnly} />
      </div>
    </div>
  );
}

/** Absent where a run ended before there was anything to draw. */
function ProgressPanel(of: {
  readonly view: RunView;
  readonly timeline: UsedPoll<Timeline>;
}): JSX.Element | null {
  const { view, timeline } = of;
  const chart = timeline.value && chartOf(view, timeline.value, serviceNowMs());
  if (!view.active && chart?.drawn !== true) return <Stale polled={timeline} />;
  return (
    <Panel title="Progress and leaders">
      <Stale polled={timeline} />
      {chart === undefined ? <p class="loading">Reading the timeline …</p> : <ProgressChart chart={chart} />}
    </Panel>
  );
}

/** Who computes the packs of this run, by the heartbeats of live instances. */
const atWorkOf = ({ uid }: RunView, { value, changedMs }: UsedPoll<Workers>): AtWork =>
  (value?.workers ?? []).flatMap(({ instance, state, computes }) =>
    state !== "live"
      ? []
      : computes.flatMap((one) =>
          one.uid === uid && one.pack !== undefined
            ? [{ pack: one.pack, instance, sinceMs: changedMs - one.forS * 1_000 }]
            : [],
        ),
  );

/** A chosen shard is part of the address, so that it can be sent to somebody. */
function choose({ shard: _old, ...route }: RunRoute, shard: number | undefined): void {
  const to = hashOf(shard === undefined ? route : { ...route, shard });
  if (to !== location.hash) history.replaceState(null, "", to);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

function MapAside(of: {
  readonly map: PackMap | undefined;
  readonly route: RunRoute;
  readonly view: RunView;
}): JSX.Element | null {
  const { route, view } = of;
  const { shard } = route;
  if (shard !== undefined)
    return (
      <button type="button" class="quiet" onClick={() => choose(route, undefined)}>
        Shard {shard} ×
      </button>
    );
  return view.generation > 1 ? <span class="dim">generation {view.generation}</span> : null;
}

const Gone = ({ deleted }: { readonly deleted: boolean }): JSX.Element => (
  <Empty title={deleted ? "This run was deleted" : "There is no run of this id"}>
    <p>
      <a href={hashOf({ view: "runs" })}>Show all runs</a>
    </p>
  </Empty>
);
