import type { Command } from "commander";
import { deleteInputs, inputs } from "../../../engine/client/inputs.ts";
import type { Session } from "../cli.ts";
import { badOption } from "../options.ts";
import { clipped, right } from "../render/table.ts";
import { bytes, count, countOf, timeText } from "../render/text.ts";

/** `leasefold inputs [PATH]`: what `upload` has stored, and what of it is not needed any more. */
export function addInputs(program: Command, session: Session): void {
  program
    .command("inputs")
    .description("list uploaded files and folders, or what is in a folder; delete them")
    .argument("[path]", "a file, or a folder such as sales/2026/")
    .option("--delete", "delete the file, or the folder with all that is in it, without asking")
    .action(async (path: string | undefined, options: { readonly delete?: boolean }) => {
      const client = await session.client();
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
