import { type Command, Option } from "commander";
import { type ListedRun, listPhases } from "../../../src/engine/client/runs.ts";
import { didYouMean } from "../../../src/engine/model/nearNames.ts";
import { overviewText } from "../../../src/engine/model/overviewText.ts";
import type { Overview } from "../../client/apiTypes.ts";
import type { RunsOptions } from "../../client/leasefoldClient.ts";
import { knownAndRunning } from "../askedCalculation.ts";
import type { Session } from "../cli.ts";
import { badOption, repeated, wholeOption } from "../options.ts";
import { liveLine } from "../render/progress.ts";
import { clipped, dropped, type Row, right, table } from "../render/table.ts";
import {
  count,
  duration,
  ofAllText,
  oneLine,
  paint,
  percent,
  progressToStop,
  type Screen,
  stateText,
  styleOfWord,
  wrap,
} from "../render/text.ts";

/** `leasefold runs`: active runs, then those that have ended, a page at a time. */
export function addRuns(program: Command, session: Session): void {
  program
    .command("runs")
    .description("list the runs, active ones first, then the newest")
    .option(
      "--limit <n>",
      "number of active runs to show, and of ended ones, at most (default: 50)",
      wholeOption,
    )
    .option("--cursor <text>", "continue after an earlier page; its --json output has the cursor")
    .addOption(new Option("--phase <phase>", "only runs in this phase").choices(listPhases))
    .option("--calculation <name>", "only runs of this calculation")
    .option("--tag <key=value>", "only runs with this tag; repeatable", repeated)
    .option(
      "--since <time>",
      "first what became of the runs since, and what helps those that failed: yesterday, 2026-11-23, 30d",
    )
    .option("--prefix <text>", "only runs whose id begins so")
    .action(async (query: RunsOptions) => {
      const { since, phase, cursor, limit: _limit, ...others } = query;
      const api = await session.api();
      const page = await api.runs(query);
      const { runs: all } = page;
      const more = page.cursor !== undefined;
      const none = all.length === 0 && !more;
      if (none && query.calculation !== undefined) await refuseTypo(session, query.calculation);
      const overview =
        since === undefined || phase !== undefined || cursor !== undefined
          ? undefined
          : await api.overview({ since, ...others });
      await session.noteInstancesDown();
      if (session.json()) return await session.printJson({ ...page, ...(overview && { overview }) });
      if (overview !== undefined)
        await session.print(`${overviewLines(session.cli.out, overview, since ?? "")}\n`);
      if (none) return await session.print("no runs");
      await session.cli.out.write(tableOf(session.cli.out, all));
      if (more)
        await session.note("there are more; --limit shows up to 1000, --cursor the next page (see --json)");
    });
}

/** Throws `InputError` for a name that neither a calculation has nor a run, but nearly. Others may be known elsewhere. */
async function refuseTypo(session: Session, name: string): Promise<void> {
  const { runs } = await (await session.api()).runs();
  const ofRuns = runs.map((one) => ("calculation" in one ? one.calculation : ""));
  const known = (await knownAndRunning(session)).map((one) => one.name);
  const names = [...new Set([...known, ...ofRuns])];
  const near = names.includes(name) ? "" : didYouMean(name, names);
  if (near !== "")
    throw badOption("calculation", `${JSON.stringify(name)}: there is none of that name${near}`);
}

/** What became of them, and of each that failed why, and what helps. */
function overviewLines(screen: Screen, overview: Overview, since: string): string {
  const failed = overview.attention.flatMap(({ run, word, message, cure }) => [
    "",
    `${run}  ${paint(screen, styleOfWord(word as ListedRun["word"]), stateText({ word }))}`,
    ...wrap(oneLine(message), screen.columns - 2).map((line) => `  ${line}`),
    ...(cure ? wrap(`${cure.command}  ${cure.text}`, screen.columns - 4).map((line) => `    ${line}`) : []),
  ]);
  return [paint(screen, "bold", overviewText(overview, since)), ...failed].join("\n");
}

const tableOf = (screen: Parameters<typeof table>[0], all: readonly ListedRun[]): string =>
  table(
    screen,
    ["RUN", "STATE", right("DONE"), dropped("PACKS"), right("ELAPSED"), clipped("CALCULATION")],
    all.map(rowOfRun),
  );

function rowOfRun(run: ListedRun): Row {
  const style = styleOfWord(run.word);
  if (!("phase" in run)) {
    const state = { text: stateText(run), style };
    return [run.run, state, "", "", "", oneLine(run.error.message)];
  }
  const { packs } = run;
  const upTo = "stop" in run ? run.stop?.next?.packs : undefined;
  const told = progressToStop(run);
  return [
    run.run,
    { text: "priority" in run ? `${stateText(run)}, ${run.priority}` : stateText(run), style },
    told === undefined ? "" : percent(told.ended, told.total),
    packs === undefined ? "" : `${count(upTo?.total ?? packs.total)}${ofAllText(run)}`,
    duration(run.elapsedS),
    `${run.calculation} ${oneLine(JSON.stringify(run.params) ?? "…")}`,
  ];
}

const watchEveryMs = 2_000;

/** `leasefold watch`: a row for each active run until none is left, and a line for each that ends meanwhile. */
export async function watchRuns(session: Session): Promise<void> {
  const { runs } = await session.api();
  const { clock, out, signal } = session.cli;
  const live = liveLine(out, clock);
  let before = new Set<string>();
  while (!signal.aborted) {
    const { runs: all } = await runs({ limit: 50 });
    const active = all.filter(({ active: is }) => is);
    const now = new Set(active.map(({ run }) => run));
    const over = all.filter(({ run }) => before.has(run) && !now.has(run));
    if (session.json()) await session.printJson({ runs: active });
    else {
      if (over.length > 0) live.clear();
      for (const one of over) await session.print(`${one.run} ${stateText(one)}`);
      const key = JSON.stringify(active.map(({ run, word }) => [run, word]));
      const room = { color: out.color, columns: out.columns - 1 };
      if (active.length > 0) await live.show(tableOf(room, active).trimEnd(), key);
    }
    if (active.length === 0) break;
    before = now;
    await clock.sleep(watchEveryMs, signal);
  }
  await live.end();
  if (!session.json() && !signal.aborted) await session.print("no run is active");
}
