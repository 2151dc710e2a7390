import type { JSX } from "preact";
import type { RunView } from "../../../../src/engine/client/runView.ts";
import type { SoFar } from "../../../client/run.ts";
import { client, useDoing } from "../../data/hooks.ts";
import { Notice, Panel } from "../../parts/parts.tsx";
import { PreviewView } from "./previewView.tsx";

/** What the run would answer if it ended now. A worker folds it, so it is asked for, and never by itself. */
export function AnswerPanel({ view }: { readonly view: RunView }): JSX.Element {
  const asking = useDoing<SoFar>();
  const { now } = asking;
  const ask = () => asking.start((signal) => client.run(view.run).soFar({ signal }));
  const nothing = (view.packs?.done ?? 0) === 0;
  return (
    <Panel
      title="Answer so far"
      aside={view.generation > 1 ? <span class="dim">generation {view.generation}</span> : null}
    >
      <p class="dim">
        {nothing
          ? "There is none before the first pack is done."
          : "A worker folds what is done: the result that the run would have if it ended now."}
      </p>
      <div class="row">
        <button
          type="button"
          aria-disabled={nothing || now.kind === "busy"}
          onClick={() => !nothing && void ask()}
        >
          {now.kind === "done" ? "Fold again" : "Fold what is done"}
        </button>
      </div>
      {now.kind === "busy" ? (
        <p class="loading" role="status">
          A worker folds …
        </p>
      ) : null}
      {now.kind === "failed" ? <Notice tone="bad">{now.text}</Notice> : null}
      {now.kind === "done" ? (
        <>
          <p>{now.value.complete ? "The run has its result now." : `Covers ${coversText(now.value)}`}</p>
          <PreviewView
            bytes={now.value.body}
            contentType={now.value.contentType}
            label={`Answer so far of ${view.run}`}
          />
        </>
      ) : null}
    </Panel>
  );
}

const coversMax = 120;

function coversText({ chunks = "", covers = "" }: SoFar): string {
  const [folded = "", all = ""] = chunks.split("/").map((text) => Number(text).toLocaleString("en-US"));
  const shown = covers.length > coversMax ? `${covers.slice(0, coversMax)} …` : covers;
  return `${folded} of ${all} chunks: ${shown.replaceAll("-", "–").replaceAll(",", ", ")}`;
}
