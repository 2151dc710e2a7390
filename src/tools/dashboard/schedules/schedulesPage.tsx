import type { JSX } from "preact";
import type { ScheduleView } from "../../../engine/client/schedules/schedules.ts";
import { countOf, duration } from "../../../engine/model/figures.ts";
import { serviceNowMs, usePoll, useTick } from "../data/hooks.ts";
import { Empty, Head } from "../parts/parts.tsx";
import { stateOf } from "../parts/runState.ts";
import { Stale } from "../parts/stale.tsx";
import { StateMark } from "../parts/stateMark.tsx";
import { hashOf } from "../route.ts";

/** All schedules: when each is due next, and what became of its latest run. */
export function SchedulesPage(): JSX.Element {
  const polled = usePoll<{ readonly schedules: readonly ScheduleView[] }>("schedules", () => 30_000);
  useTick(5_000, true);
  const all = polled.value?.schedules;
  return (
    <>
      <div class="title-row">
        <h1 tabIndex={-1}>Schedules</h1>
      </div>
      <Stale polled={polled} reading="Reading the schedules …" />
      {all === undefined ? null : all.length === 0 ? (
        <Empty title="No schedules">
          <pre class="code">leasefold schedule add nightly --cron "0 2 * * *" -- primes --to 1e9</pre>
        </Empty>
      ) : (
        <table class="list">
          <Head columns={["Schedule", "Next", "Latest run"]} />
          <tbody>
            {all.map((one) => (
              <tr key={one.name}>
                <td class="c-run">
                  <a href={hashOf({ view: "schedules", item: one.name })}>{one.name}</a>
                  <span class="dim">{`${one.run.calculation}, ${whenText(one)}`}</span>
                </td>
                <td>{nextText(one)}</td>
                <td>
                  <Last of={one} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

export function Last({ of: { last, recent } }: { readonly of: ScheduleView }): JSX.Element {
  const skipped = recent.reduce(
    (sum, { outcome, count = 1 }) => sum + (outcome === "submitted" ? 0 : count),
    0,
  );
  return (
    <div class="c-run">
      {last === undefined ? null : last.phase === undefined ? (
        "deleted"
      ) : (
        <>
          <StateMark state={stateOf({ word: last.phase })} />
          <a href={hashOf({ view: "run", run: last.run })}>{last.run}</a>
        </>
      )}
      {skipped === 0 ? null : <span class="dim issue">{countOf(skipped, "due time")} without a run</span>}
    </div>
  );
}

export const whenText = ({ cron, timeZone }: ScheduleView): string => `${cron} ${timeZone}`;

/** `in 3 h 2 min`. */
export function nextText({ next, paused }: ScheduleView): string {
  if (paused !== undefined) return paused === "asked" ? "paused" : paused;
  if (next === undefined) return "never";
  const inS = (Date.parse(next) - serviceNowMs()) / 1_000;
  return inS > 0 ? `in ${duration(Math.ceil(inS))}` : "now";
}
