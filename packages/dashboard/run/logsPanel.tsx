import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { LogLine, Logs } from "../../../src/engine/client/logs.ts";
import type { RunView } from "../../../src/engine/client/runView.ts";
import { countOf } from "../../../src/engine/model/figures.ts";
import { usePoll } from "../data/hooks.ts";
import { Stale } from "../parts/stale.tsx";
import { linesAfter, linesMax } from "./logLines.ts";
import { pathOf } from "./steer/steering.ts";

/** What the code of the run printed, followed while it works; nothing is read before somebody opens it. */
export function LogsPanel({ view }: { readonly view: RunView }): JSX.Element {
  const [open, setOpen] = useState(false);
  return (
    <details class="panel" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>What its code printed</summary>
      {open ? <Lines view={view} /> : null}
    </details>
  );
}

function Lines({ view }: { readonly view: RunView }): JSX.Element {
  const polled = usePoll<Logs>(
    `${pathOf(view.run)}/logs?max=${linesMax}`,
    () => (view.active ? 2_000 : undefined),
    (value) => (value === undefined ? "" : `&since=${value.until}`),
  );
  const shown = useRef<{ readonly value?: Logs; readonly lines: readonly LogLine[] }>({ lines: [] });
  const { value } = polled;
  if (value !== undefined && value !== shown.current.value)
    shown.current = { value, lines: linesAfter(shown.current.lines, value) };
  return (
    <>
      <Stale polled={polled} reading="Reading what was printed …" />
      <LogLines lines={shown.current.lines} />
      {value === undefined || value.more === 0 ? null : (
        <p class="dim">{`${countOf(value.more, "more line")}: leasefold logs ${view.run}`}</p>
      )}
    </>
  );
}

export const LogLines = ({ lines }: { readonly lines: readonly LogLine[] }): JSX.Element =>
  lines.length === 0 ? (
    <p class="dim">Nothing was printed by attempts that have ended.</p>
  ) : (
    <pre class="code">
      {lines
        .map(
          ({ at, chunk, work, text }) =>
            `${at.slice(11, 23)}  ${chunk === undefined ? work : `chunk ${chunk}`}  ${text}`,
        )
        .join("\n")}
    </pre>
  );
