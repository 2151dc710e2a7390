import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { RunView } from "../../../../src/engine/client/runView.ts";
import { bytes as bytesText, count, percent } from "../../../../src/engine/model/figures.ts";
import type { SavedFile } from "../../../../src/engine/model/fileList.ts";
import { fileListType } from "../../../../src/engine/model/json.ts";
import type { Manifest } from "../../../../src/engine/model/run.ts";
import type { Result as Download } from "../../../client/download.ts";
import { ApiError } from "../../../client/request.ts";
import { client, useDoing, usePoll } from "../../data/hooks.ts";
import { CopyButton } from "../../parts/copyButton.tsx";
import { Head, Notice, Panel, Scroll } from "../../parts/parts.tsx";
import { Stale } from "../../parts/stale.tsx";
import { MarkIcon } from "../../parts/stateMark.tsx";
import { pathOf } from "../steer/steering.ts";
import { PreviewView } from "./previewView.tsx";
import { ResultFacts } from "./resultFacts.tsx";
import { saveFile } from "./saveFile.ts";

type Result = NonNullable<RunView["result"]>;

/** A result up to this size is read and checked as soon as its run is opened. */
const shownBytesMax = 1024 * 1024;
/** A result is hashed as a whole in memory, which a browser tab has only so much of. */
const checkedBytesMax = 256 * 1024 * 1024;
/** Browsers hash only on https and on this machine. */
const canHash = (): boolean => globalThis.crypto?.subtle !== undefined;

type CheckedBytes = Awaited<ReturnType<typeof readChecked>>;

/** All bytes of a result, which have the hash of the manifest. */
async function readChecked(opened: Download, sha256: string) {
  if (opened.sha256 !== sha256)
    throw new ApiError(`the app gives bytes of another SHA-256: ${opened.sha256}`, {
      ...{ status: 0, code: "corrupt" },
    });
  const { contentType, fileName } = opened;
  return { bytes: await opened.read(), contentType, fileName };
}

const isCorrupt = (error: unknown): boolean => error instanceof ApiError && error.kind === "corrupt";

/** The result of a generation: the answer itself, a checked download, what it is, and the manifest that vouches for it. */
export function ResultPanel(of: { readonly run: string; readonly result: Result }): JSX.Element {
  const { run, result } = of;
  const reading = useDoing<CheckedBytes>();
  const [atBytes, setAtBytes] = useState(0);
  const { now } = reading;
  const read = () =>
    reading.start(async (signal) => {
      if (result.bytes > checkedBytesMax)
        throw new Error(`a browser checks at most ${checkedBytesMax} bytes; use leasefold result`);
      const options = { generation: result.generation, signal, onProgress: setAtBytes };
      return await readChecked(await client.run(run).result(options), result.sha256);
    });
  useEffect(() => {
    if (result.bytes <= shownBytesMax && canHash()) void read();
  }, []);
  const download = async (): Promise<void> => {
    const found = now.kind === "done" ? now.value : await read();
    if (found !== undefined) saveFile(found);
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
      {now.kind === "failed" ? (
        <Notice tone="bad" title={isCorrupt(now.error) ? "The hash differs: nothing was saved" : undefined}>
          {now.text}
        </Notice>
      ) : null}
      <div class="row">
        {now.kind === "done" ? null : (
          <button type="button" onClick={() => void read()}>
            Show
          </button>
        )}
        <button type="button" onClick={() => void download()}>
          Download and check
        </button>
        {now.kind === "done" ? (
          <span
            class="state tone-ok"
            title={`The SHA-256 of ${bytesText(now.value.bytes.byteLength)} is the manifest’s.`}
          >
            <MarkIcon mark="done" /> Checked in this browser
          </span>
        ) : null}
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
      const opened = await client.run(of.run).file(file.name, { signal });
      const found = await readChecked(opened, sha256).catch((error: unknown) => {
        throw isCorrupt(error) ? new Error(`${shown}: the hash differs, and nothing was saved`) : error;
      });
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

function ManifestView(of: { readonly run: string; readonly generation: number }): JSX.Element {
  const { run, generation } = of;
  const reading = useDoing<Manifest>();
  const { now } = reading;
  const read = (open: boolean): void => {
    if (open && now.kind === "idle") void reading.start(() => client.run(run).manifest({ generation }));
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

/** The result of the generation that the address names, which a later one does not replace. */
export function EarlierResult(of: { readonly run: string; readonly generation: number }): JSX.Element {
  const { run, generation } = of;
  const polled = usePoll<Manifest>(`${pathOf(run)}/manifest?generation=${generation}`, () => undefined);
  const { value } = polled;
  return (
    <>
      <Notice tone="run">{`This is the result of generation ${generation}; all else on the page is of the newest.`}</Notice>
      <Stale polled={polled} />
      {value === undefined ? null : (
        <ResultPanel key={`${value.uid} ${generation}`} run={run} result={value} />
      )}
    </>
  );
}
