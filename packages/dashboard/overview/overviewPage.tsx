import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Attention, Overview, Series } from "../../../src/engine/client/overview.ts";
import type { RunView } from "../../../src/engine/client/runView.ts";
import { count } from "../../../src/engine/model/figures.ts";
import { overviewText } from "../../../src/engine/model/overviewText.ts";
import { serviceNowMs, usePoll } from "../data/hooks.ts";
import { announce } from "../parts/announce.tsx";
import { CopyButton } from "../parts/copyButton.tsx";
import { Empty, Head, Panel } from "../parts/parts.tsx";
import { stateOf } from "../parts/runState.ts";
import { Stale } from "../parts/stale.tsx";
import { StateMark } from "../parts/stateMark.tsx";
import { hashOf } from "../route.ts";
import { RetryDialog } from "../run/steer/retryDialog.tsx";
import { pathOf } from "../run/steer/steering.ts";
import { agoText } from "../runs/runRow.ts";
import { Choice, FirstRun } from "../runs/runsView.tsx";
import { type Bars, chart, seriesRow } from "./seriesRow.ts";

const yesterday = "yesterday";
const others = ["3d", "7d", "30d"];

/** What became of the night: one sentence, what failed and what helps, and each calculation against its nights before. */
export function OverviewPage(of: {
  readonly since: string | undefined;
  readonly readOnly: boolean | undefined;
}): JSX.Element {
  const { since = yesterday, readOnly } = of;
  const polled = usePoll<Overview>(`overview?${new URLSearchParams({ since })}`, () => 30_000);
  const { value } = polled;
  const choose = (to: string): void => {
    location.hash = hashOf({ view: "overview", ...(to === "" ? {} : { since: to }) });
  };
  return (
    <>
      <div class="title-row">
        <h1 tabIndex={-1}>{value === undefined ? "Overview" : overviewText(value, since)}</h1>
        <div class="filters">
          <Choice label="Since" all="since yesterday" value={of.since} values={others} onChoose={choose} />
        </div>
      </div>
      <Stale polled={polled} reading="Reading the runs …" />
      {value === undefined ? null : value.series.length === 0 && value.active === 0 ? (
        <FirstRun readOnly={readOnly} />
      ) : (
        <div class="parts">
          <Failures all={value.attention} readOnly={readOnly === true} refresh={polled.refresh} />
          <Table all={value.series} />
        </div>
      )}
    </>
  );
}

/** More would hide the calculations below. */
const shownMax = 8;

function Failures(of: {
  readonly all: readonly Attention[];
  readonly readOnly: boolean;
  readonly refresh: () => void;
}): JSX.Element | null {
  const { all, readOnly, refresh } = of;
  const [asked, setAsked] = useState<string>();
  if (all.length === 0) return null;
  const close = (): void => setAsked(undefined);
  const more = all.length - shownMax;
  return (
    <Panel title="Needs attention">
      <ul class="groups">
        {all.slice(0, shownMax).map((one) => (
          <li key={one.run} class="attention">
            <div class="row">
              <p class="grow">
                <StateMark state={stateOf(one)} />{" "}
                <a href={hashOf({ view: "run", run: one.run })}>{one.run}</a>{" "}
                <span class="dim since">
                  {agoText((serviceNowMs() - Date.parse(one.submittedAt)) / 1_000)}
                </span>
              </p>
              {readOnly || one.cure?.command !== `leasefold retry ${one.run}` ? null : (
                <button type="button" aria-label={`Retry ${one.run} …`} onClick={() => setAsked(one.run)}>
                  Retry …
                </button>
              )}
            </div>
            <p class="message">{one.message}</p>
            {one.cure === undefined ? null : (
              <p class="dim">
                <code>{one.cure.command}</code>{" "}
                <CopyButton text={one.cure.command} label="Copy" what={one.cure.command} /> {one.cure.text}
              </p>
            )}
          </li>
        ))}
      </ul>
      {more > 0 ? (
        <p>
          <a href={hashOf({ view: "runs", phase: "failed" })}>{`and ${count(more)} more`}</a>
        </p>
      ) : null}
      {asked === undefined ? null : <AskRetry key={asked} run={asked} onClose={close} onDone={refresh} />}
    </Panel>
  );
}

/** The dialog of a retry, once the run is read that it tells of. */
function AskRetry(of: {
  readonly run: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}): JSX.Element {
  const polled = usePoll<RunView>(pathOf(of.run), () => undefined);
  const onDone = (text: string): void => {
    announce(text);
    of.onClose();
    of.onDone();
  };
  return polled.value === undefined ? (
    <Stale polled={polled} reading="Reading the run …" />
  ) : (
    <RetryDialog view={polled.value} onClose={of.onClose} onDone={onDone} />
  );
}

const Table = ({ all }: { readonly all: readonly Series[] }): JSX.Element =>
  all.length === 0 ? (
    <Empty title="No run has ended yet" />
  ) : (
    <table class="list runs series">
      <Head columns={["Calculation", "Latest run", "Took", "Cost", "Result, against the one before"]} />
      <tbody>
        {all.map((one) => (
          <Row key={one.name} of={one} />
        ))}
      </tbody>
    </table>
  );

function Row({ of }: { readonly of: Series }): JSX.Element | null {
  const row = seriesRow(of);
  if (row === undefined) return null;
  const { name, last, state, time, cost, marks, result, breaks } = row;
  return (
    <tr>
      <td class="c-run">
        <a href={hashOf({ view: "run", run: last.run })}>{name}</a>
        <span class="dim">{agoText((serviceNowMs() - Date.parse(last.submittedAt)) / 1_000)}</span>
      </td>
      <td class="c-state">
        <StateMark state={state} />
      </td>
      <td>
        <Chart of={time} what={`Time of the last runs of ${name}`} />
      </td>
      <td>
        <Chart of={cost} what={`Cost of the last runs of ${name}`} />
      </td>
      <td>
        <span class="marks" aria-hidden="true">
          {marks}
        </span>
        <div class={breaks ? "tone-warn" : "dim"}>{result}</div>
      </td>
    </tr>
  );
}

function Chart(of: { readonly of: Bars; readonly what: string }): JSX.Element {
  const { value, usual, far, earlier, bad, newest } = of.of;
  return (
    <div class="bars">
      <svg viewBox={`0 0 ${chart.width} ${chart.height}`} role="img" aria-label={of.what}>
        <path class="earlier" d={earlier} />
        <path class="bad" d={bad} />
        <path class="newest" d={newest} />
      </svg>
      <span>
        <span class={far ? "tone-warn" : ""}>{value}</span>
        {usual === undefined ? null : <span class="dim">{`usually ${usual}`}</span>}
      </span>
    </div>
  );
}
