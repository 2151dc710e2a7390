import { type Command, Option } from "commander";
import { peekQueue, queues } from "../../client/queues.ts";
import { type ListedRun, runs, status } from "../../client/status.ts";
import { shownIdentity } from "../../model/identity.ts";
import type { Session } from "../cli.ts";
import { wholeOption } from "../options.ts";
import { count, duration, percent } from "../render/amounts.ts";
import { noteInstancesDown } from "../render/instancesDown.ts";
import { stateOf } from "../render/progress.ts";
import { runDetails } from "../render/runDetails.ts";
import { type Cell, table } from "../render/table.ts";
import { oneLine, styleOfWord } from "../render/text.ts";
import { exitCodeOfRun, watchRun } from "../watchRun.ts";

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

/** `leasefold status RUN`: how a run stands; --watch stays until it is over. */
export function addStatus(program: Command, session: Session): void {
  program
    .command("status")
    .description("how a run stands: progress, rate, time left, who leads, calls and their price")
    .argument("<run>", "id of the run")
    .option("--watch", "show progress until the run is over; exit code 1 if it failed or was cancelled")
    .action(async (run: string, options: { watch?: boolean }) => {
      const { cli } = session;
      const client = await session.client();
      const watched = options.watch === true;
      // With --json the answer alone belongs on standard output.
      const screen = session.json() ? cli.err : cli.out;
      const view = watched ? await watchRun(session, client, run, screen) : await status(client, run);
      if (!watched) await noteInstancesDown(session);
      if (watched) session.setExitCode(exitCodeOfRun(view));
      if (session.json()) return await session.printJson(view);
      await cli.out.write(runDetails(cli.out, view));
    });
}

/** `leasefold queues` and `leasefold queues peek NAME`. */
export function addQueues(program: Command, session: Session): void {
  const group = program
    .command("queues")
    .description("every queue with its approximate count and the age of its oldest message")
    .action(async () => {
      const all = await queues(await session.client());
      if (session.json()) return await session.printJson({ queues: all });
      const columns = [
        { title: "QUEUE" },
        { title: "MESSAGES", right: true },
        { title: "OLDEST", right: true },
      ];
      const rows = all.map(({ queue, state, approximateCount, oldestS }) => [
        queue,
        state === "missing" ? "missing" : count(approximateCount ?? 0),
        oldestS === undefined ? "" : duration(oldestS),
      ]);
      await session.cli.out.write(table(session.cli.out, columns, rows));
    });
  group
    .command("peek")
    .description("look at the first messages of a queue without taking them")
    .argument("<name>", "real name of the queue, or what comes after the namespace")
    .option("-n <n>", "how many, at most 32", wholeOption, 1)
    .action(async (name: string, options: { n: number }) => {
      const messages = await peekQueue(await session.client(), name, options.n);
      if (session.json()) return await session.printJson({ messages });
      if (messages.length === 0) return await session.print("no message can be seen");
      const columns = [
        { title: "INSERTED" },
        { title: "TAKEN", right: true },
        { title: "TEXT", gives: true },
      ];
      const rows = messages.map((message) => [
        `${new Date(message.insertedMs).toISOString().slice(0, 19)}Z`,
        count(message.dequeueCount),
        oneLine(message.text),
      ]);
      await session.cli.out.write(table(session.cli.out, columns, rows));
    });
}
