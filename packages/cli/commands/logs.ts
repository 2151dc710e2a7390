import type { Command } from "commander";
import { clientLimits } from "../../../src/engine/client/client.ts";
import type { LogLine, LogsQuery } from "../../../src/engine/client/logs.ts";
import { InputError } from "../../../src/engine/model/errors.ts";
import type { Session } from "../cli.ts";
import { findLocalFile, localFilePath, logFileOf } from "../local/localFile.ts";
import { readPrivate } from "../local/privateFile.ts";
import { checkRange, wholeOption } from "../options.ts";
import { count, countOf, oneLine, paint } from "../render/text.ts";

const followEveryMs = 1_000;

/** `leasefold logs RUN`: what the calculation printed. */
export function addLogs(program: Command, session: Session): void {
  program
    .command("logs")
    .argument("[run]", "id of the run")
    .description("show what the code of a run printed, with its chunk, attempt and instance")
    .option("--instances", "instead what the instances of up --detach printed")
    .option("--chunk <n>", "only that of one chunk", wholeOption)
    .option("--max <n>", "lines at most, the newest (default: 1000)", wholeOption)
    .option("--follow", "continue until the run has ended")
    .action(async (run: string | undefined, { follow, instances, ...query }: Options) => {
      for (const [name, value] of Object.entries(query)) checkRange(name, value as number, 0);
      if ((run === undefined) !== (instances === true))
        throw new InputError("invalid", "one-log", "give either the id of a run or --instances");
      if (run === undefined) return await instanceLog(session, query.max);
      const { status, logs } = (await session.api()).run(run);
      const { clock, signal } = session.cli;
      const known = new Set<string>();
      let since: string | undefined;
      for (;;) {
        const active = follow === true && (await status()).active;
        const found = await logs({ ...query, since });
        if (session.json() && follow !== true) return await session.printJson(found);
        const lines = found.lines.filter(({ attempt }) => !known.has(attempt));
        since = found.until;
        for (const line of lines) {
          known.add(line.attempt);
          await session.print(session.json() ? JSON.stringify(line) : textOf(session, line));
        }
        if (!active || signal.aborted) {
          const all = found.lines.length < (query.max ?? clientLimits.logLinesShown);
          return await tellRest(session, found.more, known.size, all);
        }
        await clock.sleep(followEveryMs, signal);
      }
    });
}

async function instanceLog({ cli }: Session, max: number = clientLimits.logLinesShown): Promise<void> {
  const found = await findLocalFile(cli.env, cli.folder);
  const path = found.kind === "missing" ? await localFilePath(cli.env, cli.folder) : found.path;
  const text = await readPrivate(logFileOf(path));
  if (text === undefined)
    throw new InputError(
      "unknown",
      "no-log",
      "no instances were started here by up --detach; those of a terminal print there",
    );
  await cli.out.write(`${text.trimEnd().split("\n").slice(-max).join("\n")}\n`);
}

interface Options extends Omit<LogsQuery, "since"> {
  readonly follow?: boolean;
  readonly instances?: boolean;
}

/** A person sees at once whether something is missing, and how to see it. `all`: what was kept has been told. */
async function tellRest(session: Session, more: number, told: number, all: boolean): Promise<void> {
  if (told === 0) await session.note("nothing was printed by attempts that have ended");
  const why = all ? ", not kept" : "; --max shows up to what was kept";
  if (more > 0) await session.note(`${countOf(more, "line")} more${why}`);
}

function textOf(session: Session, { at, level, chunk, work, instance, text }: LogLine): string {
  const where = chunk === undefined ? work : `chunk ${count(chunk)}`;
  const head = paint(session.cli.out, "dim", `${at.slice(11, 23)} ${instance} ${where}`);
  const plain = oneLine(text);
  return `${head}  ${level === "error" ? paint(session.cli.out, "red", plain) : plain}`;
}
