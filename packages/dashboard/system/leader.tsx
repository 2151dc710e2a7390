import type { ComponentChildren, JSX } from "preact";
import type { LeaderView } from "../../../src/engine/client/leader.ts";
import { count, duration, timeText } from "../../../src/engine/model/figures.ts";
import { serviceNowMs, usePoll, useTick } from "../data/hooks.ts";
import { Empty, Facts, Head, Notice, Panel, Scroll } from "../parts/parts.tsx";
import { Stale } from "../parts/stale.tsx";
import { MarkIcon } from "../parts/stateMark.tsx";
import { cameByText } from "../run/progress/chart.ts";
import { agoText } from "../runs/runRow.ts";
import { type KnownTerm, termRows } from "./leaderModel.ts";

/** Who leads, how safely, and who led before. */
export function LeaderPart(): JSX.Element {
  const polled = usePoll<LeaderView>("leader", () => 2_000);
  useTick(1_000, true);
  const { value } = polled;
  const sinceS = (performance.now() - polled.changedMs) / 1_000;
  return (
    <>
      <Stale polled={polled} reading="Reading the record …" />
      {value === undefined ? null : <Shown found={value} sinceS={sinceS} />}
    </>
  );
}

function Shown({ found, sinceS }: { readonly found: LeaderView; readonly sinceS: number }): JSX.Element {
  if (found.kind === "never")
    return (
      <Empty title="Nobody has led yet">
        <p>An instance acquires the lease with its first timer tick, or as soon as a run is submitted.</p>
      </Empty>
    );
  if (found.kind === "unreadable")
    return (
      <Notice tone="bad" title="The leader record cannot be read">
        {found.reason}
      </Notice>
    );
  const leading = found.kind === "leading";
  const { heartbeatAgeS, leaseLeftS, cameBy } = found;
  return (
    <>
      <Panel title="Leader">
        <p class={`state large tone-${leading ? "ok" : "warn"}`}>
          <MarkIcon mark={leading ? "done" : "attention"} />
          <span>{leading ? `${found.holder} leads` : `Nobody leads; ${found.holder} was the last`}</span>
        </p>
        <Facts
          rows={[
            ["term", count(found.term)],
            [
              "since",
              `${timeText(found.since)} (${agoText((serviceNowMs() - Date.parse(found.since)) / 1_000)})`,
            ],
            ["last heartbeat", `${duration(Math.round(heartbeatAgeS + sinceS))} ago`],
            [
              "lease",
              leaseLeftS === undefined
                ? found.lease
                : `${found.lease}, at least ${duration(Math.max(0, Math.floor(leaseLeftS - sinceS)))} more`,
            ],
            ["acquired", cameByText[cameBy]],
            ["region", found.region],
            ...Object.entries(found.notes).map(([name, text]): readonly [string, ComponentChildren] => [
              name,
              text,
            ]),
          ]}
        />
      </Panel>
      <Terms terms={found.terms} leading={leading} />
    </>
  );
}

function Terms(of: { readonly terms: readonly KnownTerm[]; readonly leading: boolean }): JSX.Element {
  const { terms, leading } = of;
  return (
    <Panel title="Last terms">
      <Scroll label="Last terms">
        <table class="list">
          <Head
            columns={["Term", "Leader", "Since", "Led for", "Acquired", "No leader before it"]}
            isNumber={(at) => [0, 3, 5].includes(at)}
          />
          <tbody>
            {termRows(terms, leading, serviceNowMs()).map((row) => (
              <tr key={row.term}>
                <td class="number">{count(row.term)}</td>
                <td>
                  {row.holder}
                  {row.open ? <span class="chip">now</span> : null}
                </td>
                <td>{timeText(row.since)}</td>
                <td class="number">{row.led}</td>
                <td>{cameByText[row.cameBy]}</td>
                <td class="number">{row.gap ?? ""}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Panel>
  );
}
