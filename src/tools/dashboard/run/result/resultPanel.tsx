import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { RunView } from "../../../../engine/client/runView.ts";
import { bytes as bytesText, percent } from "../../../../engine/model/figures.ts";
import type { Manifest } from "../../../../engine/model/run.ts";
import { api, useDoing } from "../../data/hooks.ts";
import { CopyButton } from "../../parts/copyButton.tsx";
import { Notice, Panel, Scroll } from "../../parts/parts.tsx";
import { MarkIcon } from "../../parts/stateMark.tsx";
import { pathOf } from "../steer/steering.ts";
import { type CheckedBytes, canHash, fetchResult } from "./fetchResult.ts";
import { PreviewView } from "./previewView.tsx";
import { ResultFacts } from "./resultFacts.tsx";
import { saveFile } from "./saveFile.ts";

type Result = NonNullable<RunView["result"]>;

/** A result up to this size is read and checked as soon as its run is opened. */
const shownBytesMax = 1024 * 1024;

/** The result of a generation: the answer itself, a checked download, what it is, and the manifest that vouches for it. */
export function ResultPanel(of: { readonly run: string; readonly result: Result }): JSX.Element {
  const { run, result } = of;
  const reading = useDoing<CheckedBytes>();
  const [atBytes, setAtBytes] = useState(0);
  const { now } = reading;
  const read = () =>
    reading.start((signal) => fetchResult(api, pathOf(run), result, { signal, onProgress: setAtBytes }));
  useEffect(() => {
    if (result.bytes <= shownBytesMax && canHash()) void read();
  }, []);
  const download = async (): Promise<void> => {
    const found = now.kind === "done" ? now.value : await read();
    if (found?.equal === true) saveFile(found);
  };
  return (
    <Panel title="Result" aside={<span class="dim">generation {result.generation}</span>}>
      {now.kind === "done" ? (
        <PreviewView bytes={now.value.bytes} contentType={now.value.contentType} label={`Result of ${run}`} />
      ) : null}
      {now.kind === "busy" ? (
        <p class="loading" role="status">
          Reading … {percent(atBytes, result.bytes)}
        </p>
      ) : null}
      {now.kind === "failed" ? <Notice tone="bad">{now.text}</Notice> : null}
      <div class="row">
        {now.kind === "done" ? null : (
          <button type="button" onClick={() => void read()}>
            Show
          </button>
        )}
        <button type="button" onClick={() => void download()}>
          Download and check
        </button>
        {now.kind === "done" ? <Checked found={now.value} /> : null}
      </div>
      <ResultFacts result={result} hash={<Hash text={result.sha256} />} />
      <ManifestView run={run} generation={result.generation} />
    </Panel>
  );
}

const Hash = ({ text }: { readonly text: string }): JSX.Element => (
  <span class="hash">
    <code title={text}>{text.slice(0, 16)}…</code> <CopyButton text={text} label="Copy" what="SHA-256" />
  </span>
);

function Checked({ found }: { readonly found: CheckedBytes }): JSX.Element {
  return found.equal ? (
    <span
      class="state tone-ok"
      title={`The SHA-256 of ${bytesText(found.bytes.byteLength)} is the manifest’s.`}
    >
      <MarkIcon mark="done" /> Checked in this browser
    </span>
  ) : (
    <Notice tone="bad" title="The hash differs: nothing was saved">
      The bytes have SHA-256 <code>{found.sha256}</code>, which is not the manifest’s. Read them again; if
      they differ still, the stored result was changed.
    </Notice>
  );
}

function ManifestView(of: { readonly run: string; readonly generation: number }): JSX.Element {
  const { run, generation } = of;
  const reading = useDoing<Manifest>();
  const { now } = reading;
  const path = `${pathOf(run)}/manifest?generation=${generation}`;
  const read = (open: boolean): void => {
    if (open && now.kind === "idle") void reading.start((signal) => api.json<Manifest>(path, { signal }));
  };
  return (
    <details onToggle={(event) => read(event.currentTarget.open)}>
      <summary>Manifest</summary>
      {now.kind === "failed" ? <Notice tone="bad">{now.text}</Notice> : null}
      {now.kind === "done" ? (
        <>
          <Scroll label="Manifest">
            <pre class="code">{JSON.stringify(now.value, null, 2)}</pre>
          </Scroll>
          <CopyButton text={JSON.stringify(now.value, null, 2)} label="Copy" what="manifest" />
        </>
      ) : null}
    </details>
  );
}
