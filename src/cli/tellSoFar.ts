import { type AnswerSoFar, soFar } from "../client/questions/soFar.ts";
import type { Manifest } from "../model/run.ts";
import type { Session } from "./cli.ts";
import { bytes } from "./render/amounts.ts";
import { chunkShare, rangesText } from "./render/ranges.ts";
import { printBytes, saveBytes } from "./saveBytes.ts";

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
