import { type Command, Option } from "commander";
import type { ScheduleView } from "../../../src/engine/client/schedules/changeSchedule.ts";
import type { ScheduleRequest } from "../../../src/engine/client/schedules/scheduleRequest.ts";
import { fillTemplates } from "../../../src/engine/model/dueTimes.ts";
import { overlaps } from "../../../src/engine/model/schedule.ts";
import { askedCalculation } from "../askedCalculation.ts";
import type { Session } from "../cli.ts";
import { readFreeOptions } from "../freeOptions.ts";
import { optionNames, repeated, tagsOf } from "../options.ts";
import { clipped, type Row } from "../render/table.ts";
import { clip, oneLine, timeText } from "../render/text.ts";
import { type LimitOptions, limitOptions, limitsOf } from "./submit.ts";

interface AddOptions
  extends LimitOptions,
    Pick<ScheduleRequest, "cron" | "overlap" | "timeZone">,
    Pick<ScheduleRequest["run"], "reuse"> {
  readonly param?: readonly string[];
  readonly tag?: readonly string[];
}

/** `leasefold schedule …`: what is submitted when, by whoever leads. */
export function addSchedules(program: Command, session: Session): void {
  const group = program.command("schedule").description("plan runs by the clock: nightly, hourly, …");
  const tell = (value: unknown, text: string): Promise<void> =>
    session.json() ? session.printJson(value) : session.print(text);
  const on = (name: string, description: string): Command =>
    group.command(name).description(description).argument("<name>", "name of the schedule");
  addAdd(group, session);
  group
    .command("list")
    .description("list schedules with the next due time and the latest run")
    .action(() => list(session));
  for (const [verb, does] of [
    ["pause", "hold a schedule up: what is due meanwhile is not run"],
    ["resume", "go on, from now on"],
  ] as const)
    on(verb, does).action(async (name: string) => {
      const told = await (await session.api()).schedules[verb](name);
      await tell(told, `${name} is ${told.paused ? "paused" : "active"}${told.changed ? "" : " already"}`);
    });
  on("trigger", "one run now, or that of a time that is past; also of a paused schedule")
    .option("--at <time>", "the time of its templates and its id, such as 2026-11-23T02:00Z")
    .action(async (name: string, given: { readonly at?: string }) => {
      const told = await (await session.api()).schedules.trigger(name, given);
      await tell(told, told.created ? told.run : `${told.run} is there already: ${told.phase}`);
    });
  on("delete", "delete a schedule; its runs stay").action(async (name: string) =>
    tell(await (await session.api()).schedules.delete(name), `${name} is deleted; its runs stay`),
  );
}

function addAdd(group: Command, session: Session): void {
  const command = group
    .command("add")
    .description("make a schedule; templates such as {date} in parameters are filled with the due time")
    .argument("<name>", "name of the schedule, with which ids of its runs begin")
    .argument("<calculation>", "name of a calculation, or the file of your own; its parameters follow")
    .usage('<name> --cron "0 2 * * *" [options] -- <calculation> [--<parameter> <value> …]')
    .requiredOption("--cron <fields>", 'minute hour day month weekday, such as "0 2 * * *"')
    .option("--time-zone <zone>", "of the fields and the templates, such as Europe/Berlin (default: UTC)")
    .addOption(
      new Option("--overlap <how>", "when the run before is active (default: skip)").choices(overlaps),
    )
    .option("--reuse", "each run reuses what the one before has of the same inputs")
    .option("--tag <key=value>", "a word about its runs: team=risk, night={date}; repeatable", repeated)
    .option("-p, --param <name=value>", "set a parameter by its name; repeatable", repeated)
    .allowUnknownOption()
    .allowExcessArguments();
  limitOptions(command).action(async (name: string, asked: string, options: AddOptions, self: Command) => {
    const { cron, timeZone, overlap, reuse } = options;
    const calculation = await askedCalculation(session, asked);
    const own = optionNames(self);
    const params = readFreeOptions(self.args.slice(2), options.param, calculation.params, own);
    const tags = tagsOf(options.tag, fillTemplates(options.tag, 0, "UTC"));
    const run = { calculation: calculation.name, params, ...limitsOf(options), reuse, tags };
    const { schedules } = await calculation.api();
    const added = await schedules.add({ name, cron, timeZone, overlap, run });
    if (session.json()) return await session.printJson(added);
    const { first, created } = added;
    await session.print(`${name} is ${created ? "created" : "there already"}; next: ${timeText(first.due)}`);
    const told = `first run: ${first.run} with ${JSON.stringify(first.params)}`;
    await session.note(clip(oneLine(told), session.cli.err.columns));
  });
}

async function list(session: Session): Promise<void> {
  const { schedules } = await session.api();
  const [found, unreadable] = [await schedules.list(), await schedules.unreadable()];
  if (session.json()) return await session.printJson({ schedules: found, unreadable });
  for (const { blob, reason } of unreadable) await session.note(`${blob} is unreadable: ${oneLine(reason)}`);
  if (found.length === 0) return await session.print('no schedules; "leasefold schedule add" makes one');
  const columns = ["NAME", "WHEN", "CALCULATION", "NEXT", clipped("LAST")];
  await session.printTable(columns, found.map(rowOf));
}

function rowOf({ name, cron, timeZone, run, next, paused, last, skipped }: ScheduleView): Row {
  const when = timeZone === "UTC" ? cron : `${cron} ${timeZone}`;
  const told = [
    ...(last === undefined ? [] : [`${timeText(last.due)} ${last.phase ?? "deleted"}`]),
    ...(skipped === undefined ? [] : [`skipped ${timeText(skipped)}`]),
  ];
  const cells = [clip(name, 20), clip(oneLine(when), 26), clip(oneLine(run.calculation), 14)];
  const then = paused ? "paused" : next === undefined ? "never" : timeText(next);
  return [...cells, then, told.join(", ")];
}
