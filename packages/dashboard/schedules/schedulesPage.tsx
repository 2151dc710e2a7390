import type { JSX } from "preact";
import type { ScheduleView } from "../../../src/engine/client/schedules/changeSchedule.ts";
import { duration, timeText } from "../../../src/engine/model/figures.ts";
import { serviceNowMs, usePoll, useTick } from "../data/hooks.ts";
import { Empty, Head } from "../parts/parts.tsx";
import { stateOf } from "../parts/runState.ts";
import { Stale } from "../parts/stale.tsx";
import { StateMark } from "../parts/stateMark.tsx";
import { hashOf } from "../route.ts";

interface Listed {
  readonly schedules: readonly ScheduleView[];
  readonly unreadable?: readonly { readonly blob: string; readonly reason: string }[];
}

/** All schedules: when each is due next, and what became of its latest run. */
export function SchedulesPage(): JSX.Element {
  const polled = usePoll<Listed>("schedules", () => 30_000);
  useTick(5_000, true);
  const all = polled.value?.schedules;
  const row = (one: ScheduleView) => (
    <tr key={one.name}>
      <td class="c-run">
        {one.name}
        <span class="dim">{`${one.run.calculation}, ${one.cron} ${one.timeZone}`}</span>
      </td>
      <td>{nextText(one)}</td>
      <td class="c-run">
        {one.last === undefined ? null : (
          <>
            {one.last.phase === undefined ? (
              "deleted"
            ) : (
              <StateMark state={stateOf({ word: one.last.phase })} />
            )}
            <a href={hashOf({ view: "run", run: one.last.run })}>{one.last.run}</a>
          </>
        )}
        {one.skipped === undefined ? null : <span class="dim issue">skipped {timeText(one.skipped)}</span>}
      </td>
    </tr>
  );
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
          <tbody>{all.map(row)}</tbody>
        </table>
      )}
      {polled.value?.unreadable?.map(({ blob, reason }) => (
        <p class="issue" key={blob}>
          {blob} is unreadable: {reason}
        </p>
      ))}
    </>
  );
}

/** `in 3 h 2 min`. */
function nextText({ next, paused }: ScheduleView): string {
  if (paused || next === undefined) return paused ? "paused" : "never";
  const inS = (Date.parse(next) - serviceNowMs()) / 1_000;
  return inS > 0 ? `in ${duration(Math.ceil(inS))}` : "now";
}
