import type { Command } from "commander";
import type { Failures, FailureView } from "../../../src/engine/client/failures.ts";
import type { RunView } from "../../../src/engine/client/runView.ts";
import { type Range, rangeText } from "../../../src/engine/model/packs.ts";
import type { Session } from "../cli.ts";
import { checkRange, wholeOption } from "../options.ts";
import { runDetails, tryingText } from "../render/runDetails.ts";
import { clipped, type Row, right, table } from "../render/table.ts";
import { clip, count, oneLine, wrap } from "../render/text.ts";
import { exitCodeOfRun, watchRun } from "../watchRun.ts";
import { watchRuns } from "./runs.ts";

/** `leasefold watch [RUN]`: the live screen of a run until it has ended, or the list of those that are active. */
export function addWatch(program: Command, session: Session): void {
  program
    .command("watch")
    .description("show a run live until its end: progress, leader, what each worker computes")
    .argument("[run]", "id of the run; without it all active runs are listed, until none is left")
    .action(async (run?: string) => {
      if (run === undefined) return await watchRuns(session);
      // With --json standard output holds only the answer.
      const screen = session.json() ? session.cli.err : session.cli.out;
      const view = await watchRun(session, await session.api(), run, screen);
      session.exitCode = exitCodeOfRun(view);
      await showStatus(session, view);
    });
}

/** `leasefold status RUN`: the state of a run. */
export function addStatus(program: Command, session: Session): void {
  program
    .command("status")
    .description("show the state of a run: progress, rate, remaining time, leader, calls and their cost")
    .argument("<run>", "id of the run")
    .action(async (run: string) => {
      const view = await (await session.api()).run(run).status();
      await session.noteInstancesDown();
      await showStatus(session, view);
    });
}

async function showStatus(session: Session, view: RunView): Promise<void> {
  const { runs } = view.active ? await (await session.api()).workers() : { runs: [] };
  const computedBy = runs.find(({ uid }) => uid === view.uid);
  const told = { ...view, ...(computedBy === undefined ? {} : { computedBy }) };
  if (session.json()) return await session.printJson(told);
  await session.cli.out.write(runDetails(session.cli.out, told));
}

/** `leasefold failures RUN`: what failed and why, and what is retried. */
export function addFailures(program: Command, session: Session): void {
  program
    .command("failures")
    .description("show what failed in a run, and why")
    .argument("<run>", "id of the run")
    .option("--max <n>", "number of records to show, at most", wholeOption)
    .action(async (run: string, options: { max?: number }) => {
      checkRange("max", options.max, 1);
      const found = await (await session.api()).run(run).failures({ ...options, inputs: true });
      if (session.json()) return await session.printJson(found);
      if (found.failures.length + found.trying.length === 0)
        return await session.print(`no failures in ${run}`);
      if (found.failures.length > 0) await printFailures(session, found);
      await printTrying(session, found);
    });
}

/** At most so many different errors that the table has clipped are shown whole below it. */
const wholeMax = 5;

const tryingMax = 10;

/** Leaves room for the error on a terminal of 80 columns, and keeps a row on a line elsewhere; --json has the whole input. */
const inputWidth = { terminal: 24, elsewhere: 80 };

/** Without what failed again in a retry: the same row would stand there twice. */
function newestOf(failures: readonly FailureView[]): readonly FailureView[] {
  const newest = new Map<string, number>();
  for (const { work, generation } of failures) newest.set(work, Math.max(generation, newest.get(work) ?? 0));
  return failures.filter(({ work, generation }) => newest.get(work) === generation);
}

async function printFailures(session: Session, found: Failures): Promise<void> {
  const { out } = session.cli;
  const failures = newestOf(found.failures);
  const hasInputs = failures.some(({ inputs }) => inputs !== undefined);
  const input = hasInputs ? ["INPUT"] : [];
  const shown = table(
    out,
    ["WORK", "CHUNKS", ...input, right("TRIES"), "CODE", clipped("ERROR")],
    failures.map((one) =>
      rowOfFailure(one, hasInputs, inputWidth[Number.isFinite(out.columns) ? "terminal" : "elsewhere"]),
    ),
  );
  await out.write(shown);
  const messages = new Set(failures.map(({ message }) => oneLine(message)));
  const cut = [...messages].filter((message) => !shown.includes(message)).slice(0, wholeMax);
  for (const message of cut) await session.print(["", ...wrap(message, out.columns)].join("\n"));
  if (failures.some(({ chunks, code }) => chunks !== undefined && !foundByChunk(chunks, code)))
    await session.note(
      "what ends its process or its time fails with its pack; with submit --pack-size 1 it does so alone",
    );
  if (found.more) await session.note(`only the first ${count(found.failures.length)}; --max shows more`);
}

/** Whether a chunk is named: of a pack that ended its process or its time whole, none is. */
const foundByChunk = ({ from, to }: Range, code: string): boolean =>
  to - from === 1 || !["time-limit", "process-ended", "out-of-memory", "thread-exited"].includes(code);

function rowOfFailure(failure: FailureView, hasInputs: boolean, inputWidth: number): Row {
  const inputs = (failure.inputs ?? []).map((input) => JSON.stringify(input) ?? "").join(", ");
  return [
    failure.pack === undefined ? failure.work : `pack ${failure.pack}`,
    failure.chunks === undefined ? "" : rangeText(failure.chunks),
    ...(hasInputs ? [clip(oneLine(inputs), inputWidth)] : []),
    String(failure.attempts),
    failure.code,
    oneLine(failure.message),
  ];
}

async function printTrying(session: Session, { trying }: Failures): Promise<void> {
  for (const one of trying.slice(0, tryingMax))
    await session.print(wrap(oneLine(tryingText(one)), session.cli.out.columns).join("\n"));
  const more = trying.length - tryingMax;
  if (more > 0)
    await session.note(`${count(more)} more ${more === 1 ? "is" : "are"} still tried; --json shows all`);
}
