import type { Command } from "commander";
import { deleteInputs, inputs } from "../../../src/engine/client/inputs.ts";
import type { AskedCalculation } from "../askedCalculation.ts";
import type { Session } from "../cli.ts";
import { withSource } from "../freeOptions.ts";
import { badOption } from "../options.ts";
import { liveLine } from "../render/progress.ts";
import { clipped, right } from "../render/table.ts";
import { bytes, count, countOf, percent, timeText } from "../render/text.ts";
import { type Uploaded, type UploadProgress, type UploadRequest, upload } from "../upload/upload.ts";

type UploadOptions = Pick<UploadRequest, "to" | "replace">;

/** `leasefold upload PATH…`: uploads local files as inputs, and prints what a calculation takes as its source. */
export function addUpload(program: Command, session: Session): void {
  program
    .command("upload")
    .description("upload files or folders for calculations, and print the source to read them from")
    .argument("<path...>", "files and folders; files in a folder keep their paths below it")
    .option("--to <folder>", "folder to upload to (default: the name of the folder)")
    .option("--replace", "overwrite existing files that have other content")
    .action(async (paths: readonly string[], options: UploadOptions) => {
      const uploaded = await uploadWithProgress(session, paths, options);
      if (session.json()) return await session.printJson(uploaded);
      await session.print(uploaded.source);
      if (!session.cli.out.isTty) return;
      const hint = `use it: leasefold submit … --source ${uploaded.source}`;
      await session.note(hint, "dim");
    });
}

const showEveryMs = 200;

/** Shows the progress on standard error. */
async function uploadWithProgress(session: Session, paths: readonly string[], options: UploadOptions = {}) {
  const client = await session.storage();
  const { folder, signal, err, clock } = session.cli;
  const live = liveLine(err, clock);
  let shownMs = Number.NEGATIVE_INFINITY;
  let shown = Promise.resolve();
  const show = (progress: UploadProgress): void => {
    const nowMs = clock.monotonicMs();
    if (nowMs - shownMs < showEveryMs) return;
    shownMs = nowMs;
    shown = shown.then(() => live.show(lineOf(progress), "uploading"));
  };
  const uploaded = await upload(client, { ...options, folder, paths, signal }, show).finally(async () => {
    await shown;
    await live.end();
  });
  await session.note(summaryOf(uploaded));
  return uploaded;
}

const lineOf = (now: UploadProgress): string =>
  `uploading  ${percent(now.bytesDone, now.bytes)}  ${bytes(now.bytesDone)} of ${bytes(now.bytes)}  ` +
  `${count(now.filesDone)}/${count(now.files)} files`;

function summaryOf(done: Uploaded): string {
  const files = `${countOf(done.files, "file")} of ${bytes(done.bytes)}`;
  const links = done.leftOut === 1 ? "link or special file" : "links or special files";
  return [
    `${files}: ${count(done.written)} uploaded`,
    ...(done.replaced > 0 ? [`${count(done.replaced)} of them replaced`] : []),
    ...(done.same > 0 ? [`${count(done.same)} there already`] : []),
    ...(done.leftOut > 0 ? [`${count(done.leftOut)} ${links} left out`] : []),
    ...(done.others > 0
      ? [`${count(done.others)} more there already: a run over ${done.source} reads them too`]
      : []),
  ].join(", ");
}

type Params = Readonly<Record<string, unknown>>;

/** Uploads, and returns the parameters with the upload as `source`. Checks all parameters first, before gigabytes are sent. */
export async function uploadSource(
  session: Session,
  calculation: AskedCalculation,
  params: Params,
  path: string,
): Promise<Params> {
  calculation.check(withSource("upload", calculation, params, "leasefold-inputs/"));
  const { source } = await uploadWithProgress(session, [path]);
  return { ...params, source };
}

/** `leasefold inputs [PATH]`: what `upload` has stored, and what of it is not needed any more. */
export function addInputs(program: Command, session: Session): void {
  program
    .command("inputs")
    .description("list uploaded files and folders, or what is in a folder; delete them")
    .argument("[path]", "a file, or a folder such as sales/2026/")
    .option("--delete", "delete the file, or the folder with all that is in it, without asking")
    .action(async (path: string | undefined, options: { readonly delete?: boolean }) => {
      const client = await session.storage();
      if (options.delete === true) {
        if (path === undefined) throw badOption("delete", "needs the path of a file or folder");
        const deleted = await deleteInputs(client, path);
        if (session.json()) return await session.printJson({ path, ...deleted });
        return await session.print(
          `${path}  deleted: ${countOf(deleted.files, "file")}, ${bytes(deleted.bytes)}`,
        );
      }
      const found = await inputs(client, path);
      if (session.json()) return await session.printJson({ inputs: found });
      if (found.length === 0) return await session.print('nothing is uploaded; "leasefold upload" does it');
      const rows = found.map(({ source, files, bytes: size, modifiedAt, sha256 = "" }) => [
        ...[source, count(files), bytes(size), timeText(modifiedAt), sha256.slice(0, 12)],
      ]);
      const numbers = [right("FILES"), right("SIZE")];
      await session.printTable([clipped("SOURCE"), ...numbers, "NEWEST", "SHA256"], rows);
    });
}
