import type { JSX } from "preact";
import type { Durations } from "../../../src/engine/client/inspection/durations.ts";
import type { RunView } from "../../../src/engine/client/runView.ts";
import { client, useDoing } from "../data/hooks.ts";
import { Notice, Panel } from "../parts/parts.tsx";
import { DurationsView } from "./durationsView.tsx";

/** How long packs took. Reading it lists the partials, so it is asked for. */
export function DurationsPanel({ view }: { readonly view: RunView }): JSX.Element | null {
  const reading = useDoing<Durations>();
  const { now } = reading;
  if (view.packs === undefined) return null;
  const read = () => reading.start(() => client.run(view.run).durations());
  const again = (
    <button type="button" class="quiet" aria-disabled={now.kind === "busy"} onClick={() => void read()}>
      {now.kind === "busy" ? "Reading …" : now.kind === "done" ? "Read again" : "Read durations"}
    </button>
  );
  return (
    <Panel title="Durations of packs" aside={again}>
      {now.kind === "failed" ? <Notice tone="bad">{now.text}</Notice> : null}
      {now.kind === "done" ? (
        <DurationsView found={now.value} />
      ) : (
        <p class="dim">Median, tail and the slowest packs; reading them lists the partials.</p>
      )}
    </Panel>
  );
}
