import { type Uploaded, type UploadProgress, upload } from "../client/upload/upload.ts";
import { InputError } from "../model/errors.ts";
import type { AskedCalculation } from "./askedCalculation.ts";
import type { Session } from "./cli.ts";
import { bytes, count, percent } from "./render/amounts.ts";
import { liveLine } from "./render/progress.ts";

/** Uploads with progress on standard error. */
export async function uploadShown(
  session: Session,
  paths: readonly string[],
  options: { readonly to?: string; readonly replace?: boolean } = {},
): Promise<Uploaded> {
  const client = await session.client();
  const { folder, signal, err, clock } = session.cli;
  const live = liveLine(err, clock);
  let shownMs = Number.NEGATIVE_INFINITY;
  let shown = Promise.resolve();
  let uploaded: Uploaded;
  try {
    uploaded = await upload(client, { ...options, folder, paths, signal }, (progress) => {
      const nowMs = clock.monotonicMs();
      if (nowMs - shownMs < showEveryMs) return;
      shownMs = nowMs;
      shown = shown.then(() => live.show(lineOf(progress), "uploading"));
    });
  } finally {
    await shown;
    await live.end();
  }
  await session.note(summaryOf(uploaded));
  return uploaded;
}

const showEveryMs = 200;

const lineOf = (now: UploadProgress): string =>
  `uploading  ${percent(now.bytesDone, now.bytes)}  ${bytes(now.bytesDone)} of ${bytes(now.bytes)}  ` +
  `${count(now.filesDone)}/${count(now.files)} files`;

function summaryOf(done: Uploaded): string {
  const links = done.leftOut === 1 ? "link or special file" : "links or special files";
  return [
    `${count(done.files)} ${done.files === 1 ? "file" : "files"} of ${bytes(done.bytes)}: ` +
      `${count(done.written)} uploaded`,
    ...(done.replaced > 0 ? [`${count(done.replaced)} of them replaced`] : []),
    ...(done.same > 0 ? [`${count(done.same)} there already`] : []),
    ...(done.leftOut > 0 ? [`${count(done.leftOut)} ${links} left out`] : []),
  ].join(", ");
}

type Params = Readonly<Record<string, unknown>>;

/**
 * The parameters with what was uploaded as their `source`. All other parameters are checked first: a mistake in one is
 * told before gigabytes are sent, and not after.
 */
export async function uploadedSource(
  session: Session,
  calculation: AskedCalculation,
  params: Params,
  path: string,
): Promise<Params> {
  const refuse = (rule: string): never => {
    throw new InputError("invalid", "bad-option", `--upload: ${rule}`, { field: "upload" });
  };
  if (!calculation.params.some(({ name }) => name === "source"))
    refuse(`${calculation.name} reads no files; it has no parameter source`);
  if ("source" in params) refuse("gives the source itself; leave --source out");
  calculation.check({ ...params, source: "leasefold-inputs/" });
  const { source } = await uploadShown(session, [path]);
  return { ...params, source };
}
