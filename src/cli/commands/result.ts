import type { Command } from "commander";
import { type AnswerSoFar, soFar } from "../../client/questions/soFar.ts";
import { findManifest } from "../../client/result.ts";
import { InputError } from "../../model/errors.ts";
import type { Manifest } from "../../model/run.ts";
import type { Session } from "../cli.ts";
import { wholeOption } from "../options.ts";
import { bytes, count } from "../render/amounts.ts";
import { chunkShare, rangesText } from "../render/runDetails.ts";
import { printBytes, printResult, saveBytes, saveResult } from "../saveBytes.ts";

interface Options {
  readonly output?: string;
  readonly generation?: number;
  readonly soFar?: boolean;
  readonly manifest?: boolean;
  readonly wait?: number;
}

/** `leasefold result RUN`: the finished answer, streamed and checked; with --so-far that of what is computed by now. */
export function addResult(program: Command, session: Session): void {
  program
    .command("result")
    .description("print the result of a finished run, or write it to a file; its hash is checked")
    .argument("<run>", "id of the run")
    .option("-o, --output <file>", "write to a file; it appears only when the whole result was right")
    .option("--generation <n>", "an older result than the newest", wholeOption)
    .option("--manifest", "print what the result was made of, as JSON: hash, gaps, code, terms")
    .option("--so-far", "while the run works: what it would give if it ended now, folded by a worker")
    .option("--wait <s>", "with --so-far: seconds to wait for a worker (default: 60)", wholeOption)
    .action(async (run: string, options: Options) => {
      const client = await session.client();
      checkOptions(options);
      const manifest =
        options.soFar === true
          ? await tellSoFar(session, run, options)
          : await findManifest(client, run, { generation: options.generation });
      if (options.manifest === true && manifest !== undefined) return await session.printJson(manifest);
      if (manifest !== undefined) await tellResult(session, run, manifest, options.output);
    });
}

function checkOptions({ soFar, generation, wait, manifest }: Options): void {
  const rule =
    soFar === true && manifest === true
      ? "--manifest: an answer so far has none"
      : soFar === true && generation !== undefined
        ? "--generation: an answer so far is always of the newest generation"
        : soFar !== true && wait !== undefined
          ? "--wait: is for --so-far; a result is there or it is not"
          : wait !== undefined && wait < 1
            ? "--wait: give at least one second"
            : undefined;
  if (rule !== undefined) throw new InputError("invalid", "bad-option", rule);
}

async function tellResult(
  session: Session,
  run: string,
  manifest: Manifest,
  output: string | undefined,
): Promise<void> {
  const { cli } = session;
  const client = await session.client();
  if (!manifest.complete) {
    await session.note(
      `${run}: ${count(manifest.chunks - manifest.folded)} of ${count(manifest.chunks)} chunks are missing`,
    );
  }
  // The result may be of any type, so --json tells about it only together with a file.
  if (output === undefined) return await printResult(cli, client, manifest);
  const file = await saveResult(cli, client, manifest, output);
  if (session.json()) return await session.printJson({ ...manifest, file });
  await session.note(`${output}: ${bytes(manifest.bytes)} of ${manifest.contentType}, hash checked`);
}

/** Prints or saves the answer so far. A run that has its result gives the manifest of that instead. */
export async function tellSoFar(
  session: Session,
  run: string,
  options: { readonly output?: string; readonly wait?: number },
): Promise<Manifest | undefined> {
  const { cli } = session;
  const waitMs = options.wait === undefined ? undefined : options.wait * 1_000;
  const told = await soFar(
    await session.client(),
    run,
    { waitMs, signal: cli.signal },
    async (answer, body) => {
      await session.note(coverage(run, answer));
      if (options.output !== undefined) return await saveBytes(cli, options.output, async () => body);
      await printBytes(cli, body);
      return undefined;
    },
  );
  if (told.kind === "finished") {
    await session.note(`${run} is finished: this is its result`);
    return told.manifest;
  }
  const { answer, value: file } = told;
  // The answer may be of any type, so --json tells about it only together with a file.
  if (file === undefined) return undefined;
  if (session.json()) await session.printJson({ ...answer, file });
  else await session.note(`${options.output}: ${bytes(answer.bytes)} of ${answer.contentType}, hash checked`);
  return undefined;
}

function coverage(run: string, { folded, chunks, covers }: AnswerSoFar): string {
  const share = `${run} so far: ${chunkShare(folded, chunks)}`;
  return covers.length === 0 ? share : `${share}: ${rangesText(covers)}`;
}
