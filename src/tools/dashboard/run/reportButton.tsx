import type { JSX } from "preact";
import { client, useDoing } from "../data/hooks.ts";
import { announce } from "../parts/announce.tsx";
import { saveFile } from "./result/saveFile.ts";

/** Downloads the run as one file that needs no script to be read. */
export function ReportButton({ run }: { readonly run: string }): JSX.Element {
  const reading = useDoing<void>();
  const busy = reading.now.kind === "busy";
  const download = async (): Promise<void> => {
    await reading.start(async (signal) => {
      try {
        const fileName = `${run}.html`;
        saveFile({ bytes: await client.run(run).report(), contentType: "text/html", fileName });
        announce(`${fileName} downloaded`);
      } catch (error) {
        if (!signal.aborted) announce(`no report: ${error instanceof Error ? error.message : String(error)}`);
      }
    });
  };
  return (
    <button type="button" class="quiet" aria-disabled={busy} onClick={() => !busy && void download()}>
      {busy ? "Writing the report …" : "Report"}
    </button>
  );
}
