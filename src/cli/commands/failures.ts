import type { Command } from "commander";
import { type FailureView, failures } from "../../client/failures.ts";
import type { Session } from "../cli.ts";
import { count } from "../render/amounts.ts";
import { oneLine } from "../render/plainText.ts";
import { table } from "../render/table.ts";
import { wholeOption } from "../wholeOption.ts";

/** `leasefold failures RUN`: which pieces of work failed and why. */
export function addFailures(program: Command, session: Session): void {
  program
    .command("failures")
    .description("what failed in a run, and why")
    .argument("<run>", "id of the run")
    .option("--max <n>", "records shown at most", wholeOption)
    .action(async (run: string, options: { max?: number }) => {
      const found = await failures(await session.client(), run, options);
      if (session.json()) return await session.printJson(found);
      if (found.failures.length === 0) return await session.print(`no failures in ${run}`);
      const columns = [
        { title: "WORK" },
        { title: "CHUNKS" },
        { title: "TRIES", right: true },
        { title: "CODE" },
        { title: "ERROR", gives: true },
      ];
      await session.cli.out.write(table(session.cli.out, columns, found.failures.map(rowOf)));
      if (found.more) await session.note(`only the first ${count(found.failures.length)}; --max shows more`);
    });
}

const rowOf = (failure: FailureView): readonly string[] => [
  failure.pack === undefined ? failure.work : `pack ${failure.pack}`,
  failure.chunks === undefined ? "" : `${failure.chunks.from}–${failure.chunks.to - 1}`,
  String(failure.attempts),
  failure.code,
  oneLine(failure.message),
];
