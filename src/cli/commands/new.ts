import { relative } from "node:path";
import type { Command } from "commander";
import type { Session } from "../cli.ts";
import { oneLine } from "../render/plainText.ts";
import { writeStarter } from "../starter/writeStarter.ts";

/** `leasefold new NAME`: a calculation that works, with its test, to be changed into one's own. */
export function addNew(program: Command, session: Session): void {
  program
    .command("new")
    .description("write a commented calculation of your own to start from, and its test")
    .argument("<name>", "its name: lower-case letters, digits and dashes")
    .option("--dir <folder>", "where to; it is made where there is none", ".")
    .action(async (name: string, { dir }: { dir: string }) => {
      const { cli } = session;
      const made = await writeStarter(name, { folder: cli.folder, dir });
      const shown = (path: string): string => oneLine(relative(cli.folder, path));
      const file = `./${shown(made.calculation).replaceAll("\\", "/")}`;
      const next = [
        `npx --no-install leasefold check ${file}`,
        `npx --no-install leasefold up --calculation ${file}`,
        `npx --no-install leasefold submit ${name} --wait`,
      ];
      const test = `node --test ${shown(made.test)}`;
      if (session.json()) return await session.printJson({ name, ...made, next, runTest: test });
      await session.print(`wrote ${shown(made.calculation)}\n      ${shown(made.test)}`);
      if (made.linked !== undefined) await session.print(`linked ${shown(made.linked)}, which both import`);
      if (made.unlinked !== undefined) await session.note(made.unlinked);
      await session.print(
        ["\nThen:", ...next.map((line) => `  ${line}`), "", `Its test: ${test}`].join("\n"),
      );
    });
}
