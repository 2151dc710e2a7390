import { type Command, Option } from "commander";
import { type ListedRun, runs } from "../../client/runs.ts";
import { shownIdentity } from "../../model/identity.ts";
import type { Session } from "../cli.ts";
import { noteInstancesDown } from "../noteInstancesDown.ts";
import { count, duration, percent } from "../render/amounts.ts";
import { styleOfWord } from "../render/colour.ts";
import { oneLine } from "../render/plainText.ts";
import { stateOf } from "../render/progress.ts";
import { type Cell, table } from "../render/table.ts";

/** `leasefold runs`: every run, active ones first. */
export function addRuns(program: Command, session: Session): void {
  program
    .command("runs")
    .description("list the runs, active ones first, then the newest")
    .addOption(new Option("--output <format>", "wide: with the identity of the code").choices(["wide"]))
    .action(async ({ output }: { readonly output?: "wide" }) => {
      const all = await runs(await session.client());
      await noteInstancesDown(session);
      if (session.json()) return await session.printJson({ runs: all });
      if (all.length === 0) return await session.print("no runs");
      const columns = [
        { title: "RUN" },
        { title: "STATE" },
        { title: "DONE", right: true },
        { title: "PACKS", right: true },
        { title: "ELAPSED", right: true },
        ...(output === "wide" ? [{ title: "CODE" }] : []),
        { title: "CALCULATION", gives: true },
      ];
      const rows = all.map((run) => rowOf(run, output === "wide"));
      await session.cli.out.write(table(session.cli.out, columns, rows));
    });
}

function rowOf(run: ListedRun, wide: boolean): readonly (string | Cell)[] {
  const style = styleOfWord(run.word);
  if (!("phase" in run)) {
    return [
      run.run,
      { text: run.word.replaceAll("-", " "), style },
      "",
      "",
      "",
      ...(wide ? [""] : []),
      oneLine(run.error.message),
    ];
  }
  const { packs } = run;
  return [
    run.run,
    { text: stateOf(run), style },
    packs === undefined ? "" : percent(packs.done + packs.failed, packs.total),
    packs === undefined ? "" : count(packs.total),
    duration(run.elapsedS),
    ...(wide ? [run.code === undefined ? "" : shownIdentity(run.code)] : []),
    `${run.calculation} ${oneLine(JSON.stringify(run.params))}`,
  ];
}
