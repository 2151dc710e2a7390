import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import type { Workers } from "../../../src/engine/client/inspection/workers.ts";
import { count, countOf, duration } from "../../../src/engine/model/figures.ts";
import { atHandText } from "../../../src/engine/model/packs.ts";
import { usePoll, useTick } from "../data/hooks.ts";
import { Empty, Head, Notice, Panel, Scroll } from "../parts/parts.tsx";
import { Stale } from "../parts/stale.tsx";
import { StateMark } from "../parts/stateMark.tsx";
import { hashOf } from "../route.ts";
import { type Board, boardsAfter, keyOf, laneMs, lanesOf, placeOf, stateOfBoard } from "./lanes.ts";

/** More would be no page; the CLI lists all. */
const shownMax = 100;

/** Which instance computes what, by the heartbeats that instances write while work lasts: a lane for each thread. */
export function WorkersPart(): JSX.Element {
  const polled = usePoll<Workers>("workers", () => 2_000);
  useTick(1_000, true);
  const { value, changedMs } = polled;
  const shown = useRef<{ readonly value?: Workers; readonly boards: readonly Board[] }>({ boards: [] });
  if (value !== undefined && value !== shown.current.value)
    shown.current = { value, boards: boardsAfter(shown.current.boards, value, changedMs) };
  const { boards } = shown.current;
  return (
    <>
      <div class="title-row">
        <h2>Workers</h2>
        {value?.runs.map(({ run, uid, instances, threads }) => (
          <span key={uid}>
            <a href={hashOf({ view: "run", run })}>{run}</a>{" "}
            <span class="dim">{`computed by ${countOf(instances, "instance")}, ${countOf(threads, "thread")}`}</span>
          </span>
        ))}
      </div>
      <Stale polled={polled} reading="Reading the heartbeats …" />
      {value !== undefined && boards.length === 0 ? (
        <Empty title="Nobody computes anything that lasts">
          <p>
            An instance appears here once it has computed something for a second. Idle ones, and short packs,
            do not.
          </p>
        </Empty>
      ) : null}
      <div class="boards">
        {boards.slice(0, shownMax).map((board) => (
          <BoardView
            key={keyOf(board.worker)}
            board={board}
            sinceS={(performance.now() - changedMs) / 1_000}
          />
        ))}
      </div>
      {boards.length > shownMax ? (
        <p class="dim">{`and ${count(boards.length - shownMax)} more; "leasefold workers" lists all`}</p>
      ) : null}
      {value?.unreadable.map(({ blob, reason }) => (
        <Notice key={blob} tone="warn" title={`${blob} cannot be read`}>
          {reason}
        </Notice>
      ))}
    </>
  );
}

/** `sinceS`: since the answer. */
function BoardView(of: { readonly board: Board; readonly sinceS: number }): JSX.Element {
  const { board, sinceS } = of;
  const { instance, version, memoryMb, heartbeatAgeS, holds } = board.worker;
  const age = board.signed ? `, heartbeat ${duration(Math.round(heartbeatAgeS + sinceS))} ago` : "";
  const nowMs = performance.now();
  return (
    <Panel
      title={instance}
      aside={
        <>
          <StateMark state={stateOfBoard(board)} />
          <span class="dim">{`${version}, ${count(memoryMb)} MB${age}`}</span>
        </>
      }
    >
      <Scroll label={`Threads of ${instance}`}>
        <table class="list compact lanes">
          <Head
            columns={["Thread", `Last ${duration(laneMs / 1_000)}`, "Computes", "For"]}
            isNumber={(at) => at === 0 || at === 3}
          />
          <tbody>
            {lanesOf(board).map((stretches, lane) => {
              const open = stretches.find(({ toMs, cut }) => toMs === undefined || cut === true);
              return (
                <tr key={lane}>
                  <td class="number">{lane + 1}</td>
                  <td>
                    <div class="lane" aria-hidden="true">
                      {stretches.map((one) => {
                        const { left, width } = placeOf(one, nowMs);
                        const kind = one.cut === true ? "cut" : one.toMs === undefined ? "open" : "";
                        const style = { left: `${100 * left}%`, width: `${100 * width}%` };
                        return (
                          <span key={one.key} class={kind} title={`${one.run} ${one.text}`} style={style} />
                        );
                      })}
                    </div>
                  </td>
                  <td>
                    {open === undefined ? (
                      <span class="dim">nothing</span>
                    ) : (
                      <>
                        <a href={hashOf({ view: "run", run: open.run })}>{open.run}</a> {open.text}
                      </>
                    )}
                  </td>
                  <td class="number">
                    {open === undefined
                      ? ""
                      : duration(Math.round(((open.toMs ?? nowMs) - open.fromMs) / 1_000))}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
      {holds.length === 0 ? null : (
        <p class="dim">{`taken and not begun: ${holds.map((one) => `${one.run} ${atHandText(one)}`).join("; ")}`}</p>
      )}
    </Panel>
  );
}
