import type { JSX } from "preact";
import type { DescribedCalculation } from "../../../src/engine/client/describeCalculations.ts";
import type { RunsPage } from "../../../src/engine/client/runs.ts";
import { serviceNowMs, usePoll, useTick } from "../data/hooks.ts";
import { Bar, Empty, Head, Notice } from "../parts/parts.tsx";
import { Stale } from "../parts/stale.tsx";
import { StateMark } from "../parts/stateMark.tsx";
import { hashOf, type Route } from "../route.ts";
import { pathOfRuns, pollRunsMs, type RunRow, rowOf } from "./runRow.ts";

type RunsRoute = Extract<Route, { readonly view: "runs" }>;

const phases = ["active", "complete", "failed", "cancelled"];

/** All runs, the working ones and the newest first, a page at a time. */
export function RunsView(of: {
  readonly route: RunsRoute;
  readonly readOnly: boolean | undefined;
}): JSX.Element {
  const { route, readOnly } = of;
  const polled = usePoll<RunsPage>(pathOfRuns(route), ({ value }) =>
    pollRunsMs(value, route.cursor === undefined),
  );
  useTick(5_000, true);
  const { value } = polled;
  const filtered = [route.phase, route.calculation, route.search].some((one) => one !== undefined);
  return (
    <>
      <div class="title-row">
        <h1 tabIndex={-1}>Runs</h1>
        <Filters route={route} />
      </div>
      <Stale polled={polled} reading="Reading the runs …" />
      {value === undefined ? null : value.runs.length > 0 ? (
        <RunTable rows={value.runs.map((run) => rowOf(run, serviceNowMs()))} />
      ) : filtered ? (
        <Empty title={value.cursor === undefined ? "No run matches" : "No run of this page matches"}>
          <p>
            <a href={hashOf({ view: "runs" })}>Show all runs</a>
          </p>
        </Empty>
      ) : (
        <FirstRun readOnly={readOnly} />
      )}
      <nav class="pages" aria-label="Pages of runs">
        {route.cursor === undefined ? null : <a href={hashOf(firstPage(route))}>Newest</a>}
        {value?.cursor === undefined ? null : <a href={hashOf({ ...route, cursor: value.cursor })}>Older</a>}
      </nav>
    </>
  );
}

const firstPage = ({ cursor: _cursor, ...route }: RunsRoute): RunsRoute => route;

function Filters({ route }: { readonly route: RunsRoute }): JSX.Element {
  const calculations = usePoll<{ readonly calculations: readonly DescribedCalculation[] }>(
    "calculations",
    () => undefined,
  );
  const go = (name: "phase" | "calculation" | "search", value: string): void => {
    const { cursor: _cursor, [name]: _old, ...rest } = route;
    location.hash = hashOf({ ...rest, ...(value === "" ? {} : { [name]: value }) });
  };
  const names = (calculations.value?.calculations ?? []).map((one) => one.name);
  return (
    <div class="filters">
      <input
        type="search"
        aria-label="Search by the beginning of an id, or by tags such as team=risk"
        placeholder="id or team=risk"
        value={route.search ?? ""}
        onChange={(event) => go("search", event.currentTarget.value.trim())}
      />
      <Choice
        label="State"
        all="Any state"
        value={route.phase}
        values={phases}
        onChoose={(to) => go("phase", to)}
      />
      <Choice
        label="Calculation"
        all="Any calculation"
        value={route.calculation}
        values={names}
        onChoose={(to) => go("calculation", to)}
      />
    </div>
  );
}

export function Choice(of: {
  readonly label: string;
  readonly all: string;
  readonly value: string | undefined;
  readonly values: readonly string[];
  readonly onChoose: (value: string) => void;
}): JSX.Element {
  const values =
    of.value === undefined || of.values.includes(of.value) ? of.values : [...of.values, of.value];
  return (
    <select
      aria-label={of.label}
      value={of.value ?? ""}
      onChange={(event) => of.onChoose(event.currentTarget.value)}
    >
      <option value="">{of.all}</option>
      {values.map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </select>
  );
}

function RunTable({ rows }: { readonly rows: readonly RunRow[] }): JSX.Element {
  return (
    <table class="list runs">
      <Head
        columns={["State", "Run", "Progress", "Packs", "Rate", "Time", "Cost", "Submitted"]}
        isNumber={(at) => at > 2}
      />
      <tbody>
        {rows.map((row) => (
          <Row key={row.id} row={row} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ row }: { readonly row: RunRow }): JSX.Element {
  return (
    <tr>
      <td class="c-state">
        <StateMark state={row.state} />
      </td>
      <td class="c-run">
        <a href={hashOf({ view: "run", run: row.id })}>{row.id}</a>
        <span class="dim" title={row.calculation}>
          {row.calculation}
        </span>
        {row.tags === undefined ? null : (
          <span class="dim" title={row.tags}>
            {row.tags}
          </span>
        )}
        {row.error === undefined ? null : (
          <span class="dim issue" title={row.error}>
            {row.error}
          </span>
        )}
      </td>
      <td class="c-progress">
        {row.progress === undefined ? null : (
          <>
            <Bar
              done={row.done}
              failed={row.failed}
              stopped={row.stopped}
              label={`Progress of ${row.id}`}
              text={row.progress}
            />
            <span class="figure">{row.progress}</span>
          </>
        )}
      </td>
      <td class="number c-packs">{row.packs}</td>
      <td class="number c-rate">{row.rate}</td>
      <td class="number c-time">{row.remaining === undefined ? row.took : `${row.remaining} left`}</td>
      <td class="number c-cost">{row.cost}</td>
      <td class="number c-age">{row.age}</td>
    </tr>
  );
}

/** What is shown before there is any run. */
export function FirstRun({ readOnly }: { readonly readOnly: boolean | undefined }): JSX.Element {
  return (
    <Empty title="No runs yet">
      {readOnly !== false ? null : (
        <p>
          <a class="button primary" href={hashOf({ view: "submit", calculation: "primes" })}>
            Submit the first one
          </a>
        </p>
      )}
      <p>or, in a terminal:</p>
      <pre class="code">leasefold submit primes --to 1e9 --wait</pre>
      {readOnly === true ? (
        <Notice tone="run">This page is read-only: it shows runs and starts none.</Notice>
      ) : null}
    </Empty>
  );
}
