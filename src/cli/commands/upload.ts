import type { Command } from "commander";
import type { Session } from "../cli.ts";
import { paint } from "../render/colour.ts";
import { uploadShown } from "../uploadShown.ts";

interface Options {
  readonly to?: string;
  readonly replace?: boolean;
}

/** `leasefold upload PATH…`: files of this machine become inputs; prints what a calculation takes as its source. */
export function addUpload(program: Command, session: Session): void {
  program
    .command("upload")
    .description("upload files or folders for calculations; prints the source that they are read from")
    .argument("<path...>", "files and folders; what is in a folder keeps its path below it")
    .option("--to <folder>", "where they go (default: the name of the folder)")
    .option("--replace", "overwrite what is there with other content")
    .action(async (paths: readonly string[], options: Options) => {
      const uploaded = await uploadShown(session, paths, options);
      if (session.json()) return await session.printJson(uploaded);
      await session.print(uploaded.source);
      if (!session.cli.out.isTty) return;
      const hint = `use it: leasefold submit … --source ${uploaded.source}`;
      await session.note(paint(session.cli.err, "dim", hint));
    });
}
