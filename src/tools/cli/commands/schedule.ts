import { type Command, Option } from "commander";
import type { ScheduleRequest } from "../../../engine/client/schedules/scheduleRequest.ts";
import type { ScheduleDetails, ScheduleView } from "../../../engine/client/schedules/schedules.ts";
import { fillTemplates } from "../../../engine/model/dueTimes.ts";
import { tagsText } from "../../../engine/model/figures.ts";
import { overlaps, scheduleLimits, takes } from "../../../engine/model/schedule.ts";
import { dueTexts } from "../../../engine/model/waitsText.ts";
import { apiOf } from "../apiHere.ts";
import { askedCalculation } from "../askedCalculation.ts";
import type { Session } from "../cli.ts";
import { readFreeOptions } from "../freeOptions.ts";
import { durationOption, optionNames, repeated, tagsOf, wholeOption } from "../options.ts";
import { clipped, type Row, table } from "../render/table.ts";
import { clip, countOf, duration, oneLine } from "../render/text.ts";
import { type LimitOptions, limitOptions, limitsOf } from "./submit.ts";

interface AddOptions
  extends LimitOptions,
    Pick<ScheduleRequest, "overlap" | "take" | "timeZone" | "replace">,
    Pick<ScheduleRequest["run"], "reuse"> {
  readonly cron: string;
  readonly catchUp?: number;
  readonly jitter?: number;
  readonly param?: readonly string[];
  readonly tag?: readonly string[];
}

/** `leasefold schedule …`: what is submitted when, by whoever leads. */
export function addSchedules(program: Command, session: Session): void {
  const group = program.command("schedule").description("plan runs by the clock: nightly, hourly, …");
  addAdd(group, session);
  group
    .command("list")
    .description("list schedules with the next due time and the latest run")
    .action(() => list(session));
  const on = (name: string, description: string): Command =>
    group.command(name).description(description).argument("<name>", "name of the schedule");
  on("show", "show a schedule, its next ten due times, and what became of the latest").action(
    async (name: string) => {
      const found = await (await apiOf(session)).schedules.get(name);
      if (session.json()) return await session.printJson(found);
      await session.print(detailsOf(session, found));
    },
  );
  for (const pause of [true, false])
    on(
      pause ? "pause" : "resume",
      pause ? "hold a schedule up: what is due meanwhile is not run" : "go on, from now on",
    ).action(async (name: string) => {
      const { schedules } = await apiOf(session);
      const told = await (pause ? schedules.pause(name) : schedules.resume(name));
      await tell(session, told, `${name} is ${pause ? "paused" : "active"}${told.changed ? "" : " already"}`);
    });
  on("trigger", "one run now, also of a paused schedule").action(async (name: string) => {
    const told = await (await apiOf(session)).schedules.trigger(name);
    await tell(session, told, told.runs.map(({ run }) => run).join("\n"));
  });
  on("backfill", "the runs of past due times; one that is there is left as it is")
    .requiredOption("--from <day>", "a day such as 2026-11-01, or a time such as 2026-11-01T02:00Z")
    .requiredOption("--to <day>", "the same; included")
    .action(async (name: string, range: { readonly from: string; readonly to: string }) => {
      const told = await (await apiOf(session)).schedules.backfill(name, range);
      await tell(session, told, told.runs.map(({ run }) => run).join("\n"));
    });
  on("delete", "delete a schedule; its runs stay").action(async (name: string) => {
    await tell(
      session,
      await (await apiOf(session)).schedules.delete(name),
      `${name} is deleted; its runs stay`,
    );
  });
}

const tell = (session: Session, value: unknown, text: string): Promise<void> =>
  session.json() ? session.printJson(value) : session.print(text);

function addAdd(group: Command, session: Session): void {
  const { catchUpMsMax, jitterSMax } = scheduleLimits;
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
    .option(
      "--catch-up <time>",
      "how late a run may begin, such as 30m (default: 1h)",
      durationOption(catchUpMsMax),
    )
    .addOption(
      new Option("--take <which>", "of several due times that were missed (default: latest)").choices(takes),
    )
    .option("--jitter <seconds>", `begin up to so much later, at most ${jitterSMax}`, wholeOption)
    .option("--replace", "change the schedule of this name")
    .option("--reuse", "each run reuses what the one before has of the same inputs")
    .option("--tag <key=value>", "a word about its runs: team=risk, night={date}; repeatable", repeated)
    .option("-p, --param <name=value>", "set a parameter by its name; repeatable", repeated)
    .allowUnknownOption()
    .allowExcessArguments();
  limitOptions(command).action(async (name: string, asked: string, options: AddOptions, self: Command) => {
    const { cron, timeZone, overlap, take, replace, catchUp: catchUpMs, jitter: jitterS } = options;
    const calculation = await askedCalculation(session, asked);
    const own = optionNames(self);
    const params = readFreeOptions(self.args.slice(2), options.param, calculation.params, own);
    const { reuse } = options;
    const tags = tagsOf(options.tag, fillTemplates(options.tag, 0, "UTC"));
    const run = { calculation: calculation.name, params, ...limitsOf(options), reuse, tags };
    const rule = { cron, timeZone, overlap, take, replace, catchUpMs, jitterS };
    const added = await (await calculation.api()).schedules.add({ name, ...rule, run });
    const made = await (await apiOf(session)).schedules.get(name);
    if (session.json())
      return await session.printJson({ ...added, next: made.next, upcoming: made.upcoming });
    const [first] = made.upcoming;
    const same = added.outcome === "unchanged" ? "is there already" : `is ${added.outcome}`;
    await session.print(`${name} ${same}; next: ${nextText(made)}`);
    if (first !== undefined) await session.note(clip(oneLine(firstText(first)), session.cli.err.columns));
  });
}

const firstText = ({ run, params }: ScheduleDetails["upcoming"][number]): string =>
  `first run: ${run} with ${JSON.stringify(params)}`;

const shortTime = (time: string): string => time.replace(/:00\.000Z$|\.000Z$/, "Z").replace("T", " ");

const nextText = ({ next, paused }: ScheduleView): string =>
  paused === undefined
    ? next === undefined
      ? "never"
      : shortTime(next)
    : paused === "asked"
      ? "paused"
      : paused;

const lastText = ({ last }: ScheduleView): string =>
  last === undefined ? "" : `${shortTime(last.due)} ${last.phase ?? "deleted"}`;

async function list(session: Session): Promise<void> {
  const found = await (await apiOf(session)).schedules.list();
  if (session.json()) return await session.printJson({ schedules: found });
  if (found.length === 0) return await session.print('no schedules; "leasefold schedule add" makes one');
  const columns = ["NAME", "WHEN", "CALCULATION", "NEXT", clipped("LAST")];
  const rows = found.map((one): Row => {
    const when = one.timeZone === "UTC" ? one.cron : `${one.cron} ${one.timeZone}`;
    const style = one.paused === undefined ? undefined : ("yellow" as const);
    const next = nextText(one);
    const cells = [clip(one.name, 20), clip(oneLine(when), 26), clip(oneLine(one.run.calculation), 14)];
    return [...cells, style === undefined ? next : { text: next, style }, lastText(one)];
  });
  await session.printTable(columns, rows);
}

function detailsOf({ cli }: Session, found: ScheduleDetails): string {
  const { name, cron, timeZone, overlap, catchUpMs, take, jitterS, run, pending, upcoming, recent } = found;
  const { calculation, params, tags, reuse } = run;
  const rules = [
    `overlap ${overlap}`,
    `catch-up ${duration(catchUpMs / 1_000)}, takes ${take}`,
    ...(jitterS === 0 ? [] : [`jitter ${jitterS} s`]),
    ...(reuse === undefined ? [] : ["reuses the run before"]),
  ];
  const word = ({ outcome, count = 1, run: id }: ScheduleDetails["recent"][number]): string =>
    id ?? `${dueTexts[outcome]}${count === 1 ? "" : `, ${countOf(count, "due time")} from here on`}`;
  const lines = [
    `${name}: ${cron} ${timeZone}; ${rules.join(", ")}`,
    `runs ${calculation} with ${JSON.stringify(params)}${tags === undefined ? "" : `, tags ${tagsText(tags)}`}`,
    `next: ${nextText(found)}`,
    ...(pending.length === 0
      ? []
      : [`${countOf(pending.length, "run")} waiting: ${pending.map(shortTime).join(", ")}`]),
  ].map((line) => clip(oneLine(line), cli.out.columns));
  const zones = timeZone === "UTC" ? ["NEXT (UTC)"] : [`NEXT (${timeZone})`, "UTC"];
  const times = upcoming.map(({ due, at }): Row => [at, shortTime(due)].slice(0, zones.length));
  const became = recent.map((one): Row => [shortTime(one.due), word(one)]);
  return [
    ...lines,
    "",
    table(cli.out, zones, times).trimEnd(),
    ...(became.length === 0 ? [] : ["", table(cli.out, ["DUE (UTC)", clipped("BECAME")], became).trimEnd()]),
  ].join("\n");
}
