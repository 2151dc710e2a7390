import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ScheduleDetails } from "../../../engine/client/schedules/schedules.ts";
import { tagsText, timeText } from "../../../engine/model/figures.ts";
import { dueTexts } from "../../../engine/model/waitsText.ts";
import { client, useDoing, usePoll } from "../data/hooks.ts";
import { announce } from "../parts/announce.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Facts, Head, Notice, Panel } from "../parts/parts.tsx";
import { Stale } from "../parts/stale.tsx";
import { hashOf } from "../route.ts";
import { Last, nextText, whenText } from "./schedulesPage.tsx";

/** One schedule: its next ten due times, what became of the latest, and its controls. */
export function SchedulePage(of: { readonly name: string; readonly readOnly: boolean }): JSX.Element {
  const { name, readOnly } = of;
  const polled = usePoll<ScheduleDetails>(`schedules/${encodeURIComponent(name)}`, () => 5_000);
  const one = polled.value;
  return (
    <>
      <div class="title-row">
        <h1 tabIndex={-1}>{name}</h1>
        <span class="grow" />
        {one === undefined || readOnly ? null : <Controls of={{ one, refresh: polled.refresh }} />}
      </div>
      <Stale polled={polled} reading="Reading the schedule …" />
      {one === undefined ? null : <Found one={one} />}
    </>
  );
}

function Found({ one }: { readonly one: ScheduleDetails }): JSX.Element {
  const { run, overlap, pending, upcoming, recent } = one;
  return (
    <div class="columns">
      <Panel title="Request">
        <Facts
          rows={[
            ["next", nextText(one)],
            ["latest", <Last key="latest" of={one} />],
            ["waiting", pending.length > 0 && pending.map(timeText).join(", ")],
            ["when", whenText(one)],
            ["due", upcoming.map(({ at }) => at).join(", ")],
            ["overlap", overlap],
            ["calculation", run.calculation],
            ["parameters", JSON.stringify(run.params)],
            ["tags", run.tags && tagsText(run.tags)],
          ]}
        />
      </Panel>
      {recent.length === 0 ? null : (
        <Panel title="Latest due times">
          <table class="list compact">
            <Head columns={["Due", "Became"]} />
            <tbody>
              {recent.toReversed().map(({ due, outcome, count = 1, run: id }) => (
                <tr key={due}>
                  <td>{timeText(due)}</td>
                  <td>
                    {id === undefined ? (
                      dueTexts[outcome]
                    ) : (
                      <a href={hashOf({ view: "run", run: id })}>{id}</a>
                    )}
                    {count > 1 ? `, ${count} from here on` : ""}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Panel>
      )}
    </div>
  );
}

interface ControlsOf {
  readonly one: ScheduleDetails;
  readonly refresh: () => void;
}

/** As those of a run: what destroys something says so first. */
function Controls({ of: { one, refresh } }: { readonly of: ControlsOf }): JSX.Element {
  const { name } = one;
  const { now, start } = useDoing<unknown>();
  const [deletes, setDeletes] = useState(false);
  const { schedules } = client;
  const send = async (text: string, asks: () => Promise<unknown>, then = refresh): Promise<void> => {
    if ((await start(asks)) === undefined) return;
    announce(text);
    then();
  };
  const paused = one.paused === undefined;
  return (
    <>
      <div class="controls" role="toolbar" aria-label="Controls of the schedule">
        <button
          type="button"
          onClick={() =>
            send(paused ? "Paused" : "Resumed", () => schedules[paused ? "pause" : "resume"](name))
          }
        >
          {paused ? "Pause" : "Resume"}
        </button>
        <button type="button" onClick={() => send("A run waits for a leader", () => schedules.trigger(name))}>
          Run now
        </button>
        <button type="button" class="destroys" onClick={() => setDeletes(true)}>
          Delete …
        </button>
      </div>
      {now.kind === "failed" ? <Notice tone="bad">{now.text}</Notice> : null}
      {deletes ? (
        <Dialog
          title={`Delete ${name}?`}
          act="Delete for good"
          destroys
          now={now}
          onAct={() =>
            send(
              "Schedule deleted",
              () => schedules.delete(name),
              () => {
                location.hash = hashOf({ view: "schedules" });
              },
            )
          }
          onClose={() => setDeletes(false)}
        >
          <p>Its runs stay.</p>
        </Dialog>
      ) : null}
    </>
  );
}
