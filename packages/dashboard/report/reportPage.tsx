import type { ComponentChildren, JSX } from "preact";
import { renderToString } from "preact-render-to-string";
import type { ReportFacts } from "../../../src/engine/client/reportFacts.ts";
import {
  count,
  countOf,
  lostOf,
  lostWord,
  olderText,
  percent,
  progressOf,
  progressToStop,
  sentence,
  timeText,
} from "../../../src/engine/model/figures.ts";
import { Notice, Panel } from "../parts/parts.tsx";
import { stateOf } from "../parts/runState.ts";
import { StateMark } from "../parts/stateMark.tsx";
import { DrawnWidth } from "../parts/useWidth.ts";
import { CallsTable } from "../run/callsTable.tsx";
import { DurationsView } from "../run/durationsView.tsx";
import { FailureList } from "../run/failures/failureList.tsx";
import { figuresOf } from "../run/liveFigures.ts";
import { StillMap } from "../run/map/packMapView.tsx";
import { chartOf } from "../run/progress/chart.ts";
import { ProgressChart } from "../run/progress/progressChart.tsx";
import { RequestFacts } from "../run/requestFacts.tsx";
import { PreviewView } from "../run/result/previewView.tsx";
import { ResultFacts } from "../run/result/resultFacts.tsx";
import { Figures, Words } from "../run/runFigures.tsx";

/** Width of the charts in pixels; a narrower window shows them smaller. */
const chartWidth = 880;

/**
 * Pure: a run as one HTML page that needs no script and no network, of the parts that the dashboard has. `style` is the
 * dashboard's own; `policy` lets in nothing else. Whatever a run's texts are, they become text.
 */
export function renderReport(
  facts: ReportFacts,
  { style, policy }: { readonly style: string; readonly policy: string },
): string {
  const page = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content={policy} />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="referrer" content="no-referrer" />
        <title>{`${facts.view.run} – Leasefold`}</title>
        {/* A style sheet is no text to escape. */}
        <style dangerouslySetInnerHTML={{ __html: style }} />
      </head>
      <body class="report">
        <main>
          <DrawnWidth.Provider value={chartWidth}>
            <Report {...facts} />
          </DrawnWidth.Provider>
        </main>
      </body>
    </html>
  );
  // No text may turn the direction of what follows it.
  return `<!doctype html>\n${renderToString(page).replaceAll(/[\u202a-\u202e\u2066-\u2069]/g, "")}\n`;
}

function Report(facts: ReportFacts): JSX.Element {
  const { view, map, durations, timeline, failures, manifest } = facts;
  const told = progressToStop(view);
  const chart = chartOf(view, timeline, Date.parse(timeline.nowAt));
  const ended = view.finishedAt === undefined ? "has not ended" : `ended ${timeText(view.finishedAt)}`;
  return (
    <>
      <header class="run-header">
        <p class="crumbs">{`Leasefold report / ${view.calculation}`}</p>
        <div class="title-row">
          <h1>{view.run}</h1>
          <StateMark state={stateOf(view)} />
        </div>
        <p class="dim">
          {`submitted ${timeText(view.submittedAt)}, ${ended}${view.generation > 1 ? `, generation ${view.generation}` : ""}`}
        </p>
        {told === undefined ? null : (
          <p>
            <b>{percent(told.ended, told.total)}</b> of the
            {view.stop?.next === undefined ? "" : ` first ${count(told.total)}`} {told.unit}s have ended
          </p>
        )}
        <Figures figures={figuresOf(view, 0)} />
        <Words view={view} />
        <Notes {...facts} />
      </header>
      <Panel title="Progress and leaders">
        <Unless
          why={
            timeline.terms.length === 0
              ? "No leader has seen this run yet."
              : !view.active && !chart.drawn && "The run ended before there was any progress to draw."
          }
        >
          <ProgressChart chart={chart} />
        </Unless>
      </Panel>
      <Panel title="Packs">
        <Unless
          why={map.packs === 0 && "The run has no packs: it is not planned, or its plan has no chunks."}
        >
          <StillMap map={map} />
        </Unless>
      </Panel>
      <Panel title="Durations of packs">
        <DurationsView found={durations} />
      </Panel>
      <Panel title="Failures" class="failures">
        <Unless why={failures.groups.length + failures.trying.length === 0 && withoutRecord(view)}>
          <FailureList found={failures} />
          {failures.more ? <p class="dim">There are more; leasefold failures --max lists them.</p> : null}
        </Unless>
      </Panel>
      <Panel title="Cost" aside={<span class="dim">list prices</span>}>
        <CallsTable view={view} />
      </Panel>
      <Result {...facts} />
      <Panel title="Request">
        <RequestFacts view={view} />
      </Panel>
      {manifest === undefined ? null : (
        <Panel title="Manifest">
          <pre class="code">{cut(JSON.stringify(manifest, null, 2))}</pre>
        </Panel>
      )}
      <p class="dim">{`Run ${view.run} (${view.uid}), as of ${timeText(timeline.nowAt)}.`}</p>
    </>
  );
}

const textMax = 16_000;
const cut = (text: string): string => (text.length > textMax ? `${text.slice(0, textMax)} …` : text);

function Unless(of: {
  readonly why: string | false;
  readonly children: ComponentChildren;
}): ComponentChildren {
  return of.why === false ? of.children : <p class="dim">{of.why}</p>;
}

/** What a reader must know before the figures: that a run still changes, gaps, and an older result. */
function Notes({ view, manifest }: ReportFacts): JSX.Element {
  const { chunks = 0, folded = 0 } = manifest ?? {};
  const older = olderText(view);
  const open = "This run has not ended. The report shows it as it was when the report was made.";
  const gaps = `The result lacks ${count(chunks - folded)} of ${countOf(chunks, "chunk")}; the manifest says which.`;
  const said = [view.active && open, older !== undefined && sentence(older), folded < chunks && gaps];
  return (
    <>
      {said.map((text) =>
        text === false ? null : (
          <Notice key={text} tone="warn">
            {text}
          </Notice>
        ),
      )}
    </>
  );
}

function withoutRecord(view: ReportFacts["view"]): string {
  const { unit = "pack", ...told } = progressOf(view) ?? { failed: 0 };
  const lost = lostOf(told);
  const packs = countOf(lost, unit);
  if (lost === 0) return "Nothing failed.";
  if (lostWord(view) === "failed") return `${packs} failed; no record says why.`;
  const [verb, them] = lost === 1 ? ["is", "it"] : ["are", "them"];
  return `${packs} ${verb} missing: the run ${view.active ? "ends" : "ended"} without ${them}.`;
}

function Result({ view, manifest, preview }: ReportFacts): JSX.Element {
  const { result } = view;
  const none = view.active ? "The run has no result yet." : "The run has no result.";
  return (
    <Panel
      title="Result"
      aside={result === undefined ? null : <span class="dim">generation {result.generation}</span>}
    >
      {result === undefined ? <p class="dim">{none}</p> : null}
      {preview === undefined || manifest === undefined ? null : (
        <PreviewView bytes={preview} contentType={manifest.contentType} label={`Result of ${view.run}`} />
      )}
      {result !== undefined && preview === undefined ? (
        <p class="dim">No preview of this type or size; download it to read it.</p>
      ) : null}
      {result === undefined ? null : <ResultFacts result={result} hash={<code>{result.sha256}</code>} />}
    </Panel>
  );
}
