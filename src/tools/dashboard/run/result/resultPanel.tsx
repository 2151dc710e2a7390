import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { RunView } from "../../../../engine/client/runView.ts";
import { bytes as bytesText, count, percent } from "../../../../engine/model/figures.ts";
import type { SavedFile } from "../../../../engine/model/fileList.ts";
import { fileListType } from "../../../../engine/model/json.ts";
import type { Manifest } from "../../../../engine/model/run.ts";
import { api, useDoing } from "../../data/hooks.ts";
import { CopyButton } from "../../parts/copyButton.tsx";
import { Head, Notice, Panel, Scroll } from "../../parts/parts.tsx";
import { MarkIcon } from "../../parts/stateMark.tsx";
import { pathOf } from "../steer/steering.ts";
import { type CheckedBytes, canHash, fetchChecked } from "./fetchChecked.ts";
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
    reading.start((signal) => {
      const path = `${pathOf(run)}/result?generation=${result.generation}`;
      return fetchChecked(api, path, result, { signal, onProgress: setAtBytes });
    });
  useEffect(() => {
    if (result.bytes <= shownBytesMax && canHash()) void read();
  }, []);
  const download = async (): Promise<void> => {
    const found = now.kind === "done" ? now.value : await read();
    if (found?.equal === true) saveFile(found);
  };
  return (
    <Panel title="Result" aside={<span class="dim">generation {result.generation}</span>}>
      {now.kind === "done" && result.contentType === fileListType ? (
        <SavedFiles run={run} list={now.value.bytes} />
      ) : now.kind === "done" ? (
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

const filesShown = 100;

/** The files that chunks saved, in the order of the result, each a download of its own. */
function SavedFiles(of: { readonly run: string; readonly list: Uint8Array }): JSX.Element {
  const loading = useDoing<void>();
  const { now } = loading;
  const { files } = useMemo(
    () => JSON.parse(new TextDecoder().decode(of.list)) as { readonly files: readonly SavedFile[] },
    [of.list],
  );
  const download = (file: SavedFile, shown: string) =>
    loading.start(async (signal) => {
      const sha256 = file.name.slice(0, file.name.indexOf("."));
      const path = `${pathOf(of.run)}/files/${file.name}`;
      const found = await fetchChecked(api, path, { bytes: file.bytes, sha256 }, { signal });
      if (!found.equal) throw new Error(`${shown}: the hash differs, and nothing was saved`);
      saveFile({ ...found, fileName: shown });
    });
  return (
    <>
      <Scroll label={`Files of ${of.run}`}>
        <table class="list">
          <Head columns={["File", "Size", ""]} isNumber={(at) => at === 1} />
          <tbody>
            {files.slice(0, filesShown).map((file, index) => {
              const shown = `${String(index).padStart(8, "0")}${file.name.slice(file.name.indexOf("."))}`;
              return (
                <tr key={file.name}>
                  <td>
                    <code title={file.name}>{shown}</code>
                  </td>
                  <td class="number">{bytesText(file.bytes)}</td>
                  <td>
                    <button
                      type="button"
                      class="quiet"
                      aria-label={`Download ${shown}`}
                      onClick={() => void download(file, shown)}
                    >
                      Download
                    </button>
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
      {files.length > filesShown ? (
        <p class="dim">
          and {count(files.length - filesShown)} more: <code>leasefold result {of.run} -o folder/</code>
        </p>
      ) : null}
      {now.kind === "failed" ? <Notice tone="bad">{now.text}</Notice> : null}
    </>
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
