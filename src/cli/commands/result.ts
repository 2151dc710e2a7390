import type { Command } from "commander";
import { findManifest } from "../../client/result.ts";
import type { Session } from "../cli.ts";
import { bytes, count } from "../render/amounts.ts";
import { printResult, saveResult } from "../saveResult.ts";
import { wholeOption } from "../wholeOption.ts";

/** `leasefold result RUN`: the finished answer, streamed and checked. */
export function addResult(program: Command, session: Session): void {
  program
    .command("result")
    .description("print the result of a finished run, or write it to a file; its hash is checked")
    .argument("<run>", "id of the run")
    .option("-o, --output <file>", "write to a file; it appears only when the whole result was right")
    .option("--generation <n>", "an older result than the newest", wholeOption)
    .action(async (run: string, options: { output?: string; generation?: number }) => {
      const { cli } = session;
      const client = await session.client();
      const manifest = await findManifest(client, run, { generation: options.generation });
      if (!manifest.complete) {
        await session.note(
          `${run}: ${count(manifest.chunks - manifest.folded)} of ${count(manifest.chunks)} chunks are missing`,
        );
      }
      if (options.output === undefined) {
        // The result may be of any type, so --json tells about it only together with a file.
        return await printResult(cli, client, manifest);
      }
      const file = await saveResult(cli, client, manifest, options.output);
      if (session.json()) return await session.printJson({ ...manifest, file });
      await session.note(
        `${options.output}: ${bytes(manifest.bytes)} of ${manifest.contentType}, hash checked`,
      );
    });
}
