import { Readable } from "node:stream";
import type { Command } from "commander";
import type { DocumentOutcome } from "../../../src/engine/client/questions/checkDocuments.ts";
import { type AnswerSoFar, soFar } from "../../../src/engine/client/questions/soFar.ts";
import {
  type PackOutcome,
  parseSample,
  type Verification,
  verify,
} from "../../../src/engine/client/questions/verify.ts";
import { type FoundResult, findResult } from "../../../src/engine/client/result.ts";
import { rangesText } from "../../../src/engine/model/packs.ts";
import type { Manifest } from "../../../src/engine/model/run.ts";
import type { Session } from "../cli.ts";
import { failed, hasGaps } from "../exitCodes.ts";
import { badOption, checkRange, wholeOption } from "../options.ts";
import { liveLine } from "../render/progress.ts";
import { chunkShare } from "../render/runDetails.ts";
import { clipped, right } from "../render/table.ts";
import { bytes, count, countOf, olderText, oneLine, paint } from "../render/text.ts";
import { checkWritable, printBytes, saveBytes } from "../saveBytes.ts";
import { printResult, saveResult } from "../saveResult.ts";

interface Options {
  readonly output?: string;
  readonly generation?: number;
  readonly soFar?: boolean;
  readonly manifest?: boolean;
  readonly link?: boolean;
  readonly wait?: number;
  readonly allowGaps?: boolean;
}

/** `leasefold result RUN`: the result, streamed and checked; with --so-far that of the chunks computed so far. */
export function addResult(program: Command, session: Session): void {
  program
    .command("result")
    .description("print the result of a finished run, or write it to a file; its hash is checked")
    .argument("<run>", "id of the run")
    .option(
      "-o, --output <file>",
      "write to a file, which appears only once the whole result is checked; of a result of files, to a folder/",
    )
    .option("--generation <n>", "the result of this generation instead of the newest", wholeOption)
    .option("--allow-gaps", "a result with gaps is no failure")
    .option("--manifest", "print what the result was made of, as JSON: hash, gaps, code, terms")
    .option("--link", "print a link that reads it without a key for 15 minutes; it is a secret")
    .option("--so-far", "for a run without a result: have a worker fold what is done so far")
    .option("--wait <s>", "with --so-far: seconds to wait for a worker (default: 60)", wholeOption)
    .action(async (run: string, options: Options) => {
      checkOptions(options);
      if (options.link === true) return await tellLink(session, run, options);
      await checkWritable(session.cli, options.output);
      const manifest =
        options.soFar === true
          ? await tellSoFar(session, run, options)
          : await tellFound(session, run, options.generation);
      if (manifest?.complete === false && options.allowGaps !== true) session.exitCode = hasGaps;
      if (options.manifest === true && manifest !== undefined) return await session.printJson(manifest);
      if (manifest !== undefined) await tellResult(session, run, manifest, options.output);
    });
}

async function tellFound(session: Session, run: string, generation: number | undefined): Promise<Manifest> {
  const { manifest, newest } = await findResult(await session.storage(), run, { generation });
  await noteOlder(session, run, manifest, newest);
  return manifest;
}

/** Notes that a result is not that of the newest generation, and how that one ended. */
async function noteOlder(
  session: Session,
  run: string,
  result: Pick<Manifest, "generation">,
  newest: FoundResult["newest"],
): Promise<void> {
  const text = newest === undefined ? undefined : olderText({ ...newest, result });
  if (text !== undefined) await session.note(`${run}: ${text}`);
}

/** The link alone on standard output, for a pipe. */
async function tellLink(session: Session, run: string, { generation }: Options): Promise<void> {
  const link = await (await session.api()).run(run).resultLink({ generation });
  if (session.json()) return await session.printJson(link);
  await session.print(link.url);
  await session.note(`${run}: whoever has this link reads ${bytes(link.bytes)} until ${link.expires}`);
}

function checkOptions({ soFar = false, generation, wait, manifest = false, link = false, output }: Options) {
  if (link && soFar) throw badOption("link", "an answer so far has none");
  if (link && (manifest || output !== undefined))
    throw badOption("link", "it prints a link and nothing else: leave out --manifest and -o");
  if (soFar && manifest) throw badOption("manifest", "an answer so far has none");
  if (soFar && generation !== undefined)
    throw badOption("generation", "an answer so far is always of the newest generation");
  if (!soFar && wait !== undefined) throw badOption("wait", "needs --so-far");
  checkRange("wait", wait, 1);
}

async function tellResult(session: Session, run: string, manifest: Manifest, output: string | undefined) {
  const { cli } = session;
  const client = await session.storage();
  const { complete, chunks, folded, notes = [] } = manifest;
  for (const one of notes) await session.note(`${run}: ${one}`);
  if (!complete)
    await session.note(
      `${run}: ${count(chunks - folded)} of ${countOf(chunks, "chunk")} ${chunks - folded === 1 ? "is" : "are"} missing`,
    );
  if (output === undefined) return await printResult(cli, client, manifest);
  await tellSaved(session, manifest, output, await saveResult(cli, client, manifest, output));
}

/** Tells about a file. The result itself may be of any type, so --json describes only a file. */
async function tellSaved(session: Session, saved: Manifest | AnswerSoFar, output: string, file: string) {
  if (session.json()) return await session.printJson({ ...saved, file });
  const what = output.endsWith("/")
    ? "its files, hashes"
    : `${bytes(saved.bytes)} of ${saved.contentType}, hash`;
  await session.note(`${output}: ${what} checked`);
}

/** Prints or saves the answer so far. Returns the manifest instead if the run has its result. */
async function tellSoFar(session: Session, run: string, { output, wait }: Options) {
  const { cli } = session;
  const waitMs = wait === undefined ? undefined : wait * 1_000;
  const limits = { waitMs, signal: cli.signal };
  const told = await soFar(await session.storage(), run, limits, async (answer, body) => {
    await session.note(coverage(run, answer));
    if (output !== undefined) return await saveBytes(cli, output, async () => body);
    await printBytes(cli, body);
    return undefined;
  });
  if (told.kind === "finished") {
    await session.note(`${run} is finished: this is its result`);
    return told.manifest;
  }
  if (output !== undefined && told.value !== undefined)
    await tellSaved(session, told.answer, output, told.value);
  return undefined;
}

function coverage(run: string, { folded, chunks, covers }: AnswerSoFar): string {
  const share = `${run} so far: ${chunkShare(folded, chunks)}`;
  return covers.length === 0 ? share : `${share}: ${rangesText(covers)}`;
}

/** `leasefold report RUN`: the run as one HTML file, to show and to keep. */
export function addReport(program: Command, session: Session): void {
  program
    .command("report")
    .description("write a run as one HTML file: progress, leaders, packs, durations, failures, cost, result")
    .argument("<run>", "id of the run")
    .option("-o, --output <file>", "file to write (default: RUN.html)")
    .action(async (run: string, { output = `${run}.html` }: { output?: string }) => {
      const body = Buffer.from(await (await session.api()).run(run).report());
      const file = await saveBytes(session.cli, output, async () => Readable.from([body]));
      if (session.json()) return await session.printJson({ run, file, bytes: body.byteLength });
      await session.note(`${output}: ${bytes(body.byteLength)}`);
    });
}

/** `leasefold verify RUN`: computes a sample of a finished run again and compares. */
export function addVerify(program: Command, session: Session): void {
  program
    .command("verify")
    .description("recompute random packs of a finished run, and compare them with the hashes of its result")
    .argument("<run>", "id of the run")
    .option(
      "--sample <n>",
      "packs to recompute, at most 1,000: a number, or a share such as 5% (default: 1%)",
    )
    .option("--wait <s>", "give up after this many seconds without an answer", wholeOption)
    .action(async (run: string, options: { sample?: string; wait?: number }) => {
      const { cli } = session;
      checkRange("wait", options.wait, 1);
      const sample = options.sample === undefined ? undefined : parseSample(options.sample);
      const client = await session.storage();
      const live = liveLine(cli.err, cli.clock);
      const found = await verify(client, run, {
        sample,
        waitMs: options.wait === undefined ? undefined : options.wait * 1_000,
        signal: cli.signal,
        onProgress: (answered, drawn) =>
          void live.show(`${count(answered)} of ${countOf(drawn, "pack")} computed again`, ""),
      }).finally(() => live.end());
      if (!found.allEqual) session.exitCode = failed;
      if (session.json()) return await session.printJson(found);
      await tellVerification(session, found);
    });
}

const words: Readonly<Record<PackOutcome, string>> = {
  equal: "equal",
  different: "different",
  "not-folded": "without a hash in the result",
  failed: "failed when computed again",
  unanswered: "not answered in time",
};

/** No input file is hashed: the packs that are computed again read theirs under the ETags in the list. */
const documentNames: Readonly<Record<string, string>> = { inputs: "list of inputs" };

const documentWords: Readonly<Record<DocumentOutcome, string>> = {
  equal: "as recorded",
  different: "NOT as recorded",
  none: "",
};

async function tellVerification(
  session: Session,
  { run, generation, newest, result, documents, packs, others, stop }: Verification,
): Promise<void> {
  await noteOlder(session, run, { generation }, newest);
  const bytes = result.equal
    ? `its bytes have the SHA-256 of its manifest, ${result.sha256.slice(0, 12)}…`
    : paint(session.cli.out, "red", "its bytes do not have the SHA-256 of its manifest");
  await session.print(`${run}: ${bytes}`);
  const checked = Object.entries(documents).filter(([, outcome]) => outcome !== "none");
  const told = checked
    .map(([name, outcome]) => `${documentNames[name] ?? name} ${documentWords[outcome]}`)
    .join(", ");
  const allRight = checked.every(([, outcome]) => outcome !== "different");
  await session.print(`${run}: ${allRight ? told : paint(session.cli.out, "red", told)}`);
  const outcomes = (Object.keys(words) as PackOutcome[]).filter((one) => packs[one] > 0);
  const text = outcomes.map((one) => `${count(packs[one])} ${words[one]}`).join(", ") || "none to compare";
  await session.print(
    `${run}: ${count(packs.drawn)} of ${countOf(packs.total, "pack")} computed again: ${text}`,
  );
  if (stop !== undefined) {
    const end =
      stop.after === undefined ? "accepts none" : `accepts the first ${count(stop.after)} chunks first`;
    const said = `stop was asked again ${stop.asked === 1 ? "once" : `${count(stop.asked)} times`}: it ${end}`;
    const differs = stop.others.map(
      ({ chunks, error, outcome }) => error?.message ?? `${count(chunks)} chunks: ${outcome}`,
    );
    const line =
      stop.others.length === 0 ? said : paint(session.cli.out, "red", `stop: ${oneLine(differs.join("; "))}`);
    await session.print(`${run}: ${line}`);
  }
  if (packs.missing > 0)
    await session.note(
      packs.missing === 1
        ? "1 pack has gaps and was not drawn"
        : `${count(packs.missing)} packs have gaps; none of them was drawn`,
    );
  if (packs.missing > 0 && packs.missing === packs.total)
    await session.note("all packs have gaps, so nothing was compared: this is no success");
  if (others.length === 0) return;
  const rows = others.map(({ pack, chunks, outcome, error }) => [
    String(pack),
    `${chunks.from}–${chunks.to - 1}`,
    words[outcome],
    oneLine(error?.message ?? ""),
  ]);
  await session.printTable([right("PACK"), "CHUNKS", "WHAT", clipped("ERROR")], rows);
}
