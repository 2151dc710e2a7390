import type { Command } from "commander";
import { type Failures, type FailureView, failures } from "../../client/failures.ts";
import { rangeText } from "../../model/packs.ts";
import type { Session } from "../cli.ts";
import { wholeOption } from "../options.ts";
import { count } from "../render/amounts.ts";
import { tryingText } from "../render/runDetails.ts";
import { table } from "../render/table.ts";
import { clip, oneLine, wrap } from "../render/text.ts";

/** `leasefold failures RUN`: which pieces of work failed and why. */
export function addFailures(program: Command, session: Session): void {
  program
    .command("failures")
    .description("what failed in a run, and why")
    .argument("<run>", "id of the run")
    .option("--max <n>", "records shown at most", wholeOption)
    .action(async (run: string, options: { max?: number }) => {
      const found = await failures(await session.client(), run, { ...options, inputs: true });
      if (session.json()) return await session.printJson(found);
      if (found.failures.length + found.trying.length === 0)
        return await session.print(`no failures in ${run}`);
      if (found.failures.length > 0) await printRecords(session, found);
      await printTrying(session, found);
    });
}

async function printRecords(session: Session, found: Failures): Promise<void> {
  const { out } = session.cli;
  const inputs = found.failures.some((one) => one.inputs !== undefined);
  const columns = [
    { title: "WORK" },
    { title: "CHUNKS" },
    ...(inputs ? [{ title: "INPUT" }] : []),
    { title: "TRIES", right: true },
    { title: "CODE" },
    { title: "ERROR", gives: true },
  ];
  const rows = found.failures.map((one) => rowOf(one, inputs));
  const shown = table(out, columns, rows);
  await out.write(shown);
  const messages = new Set(found.failures.map(({ message }) => oneLine(message)));
  const cut = [...messages].filter((message) => !shown.includes(message)).slice(0, wholeMax);
  for (const message of cut) await session.print(["", ...wrap(message, out.columns)].join("\n"));
  if (found.failures.some(({ chunks }) => chunks !== undefined && chunks.to - chunks.from > 1)) {
    await session.note("a pack fails as a whole; with submit --pack-size 1 only chunks with an error do");
  }
  if (found.more) await session.note(`only the first ${count(found.failures.length)}; --max shows more`);
}

/** What may still succeed, one sentence each. */
async function printTrying(session: Session, { trying }: Failures): Promise<void> {
  for (const one of trying.slice(0, tryingMax))
    await session.print(wrap(oneLine(tryingText(one)), session.cli.out.columns).join("\n"));
  const more = trying.length - tryingMax;
  if (more > 0) await session.note(`${count(more)} more are still tried; --json shows all`);
}

const rowOf = (failure: FailureView, inputs: boolean): readonly string[] => [
  failure.pack === undefined ? failure.work : `pack ${failure.pack}`,
  failure.chunks === undefined ? "" : rangeText(failure.chunks),
  ...(inputs ? [clip(inputsOf(failure), inputWidth)] : []),
  String(failure.attempts),
  failure.code,
  oneLine(failure.message),
];

/** So many different errors that the table cut are shown whole below it. */
const wholeMax = 5;

/** So many attempts at work that is still tried are told. */
const tryingMax = 10;

/** Leaves room for the error on a screen of 80 columns. */
const inputWidth = 24;

const inputsOf = ({ inputs = [] }: FailureView): string =>
  oneLine(inputs.map((input) => JSON.stringify(input) ?? "").join(", "));
