import {
  addSchedule,
  deleteSchedule,
  pauseSchedule,
  schedules as readSchedules,
  triggerSchedule,
} from "../../../../src/engine/client/schedules/changeSchedule.ts";
import type { ScheduleRequest } from "../../../../src/engine/client/schedules/scheduleRequest.ts";
import { parseScheduledRun, scheduleBlobs, scheduledRunId } from "../../../../src/engine/model/names.ts";
import type { FarCall } from "../../../support/farStorage.ts";
import type { Weather } from "../../../support/network.ts";
import { leaderOnly, play, type Script, workerOnly } from "../script.ts";
import type { Scenario } from "./scenarios.ts";

const minuteMs = 60_000;

type Asked = Partial<Omit<ScheduleRequest, "run" | "name">> & {
  readonly chunks?: number;
  readonly reuse?: true;
};

/** Gives its first due time. */
async function add(
  script: Script,
  name: string,
  { chunks = 2, reuse, ...asked }: Asked = {},
): Promise<number> {
  const params = { chunks, list: false };
  const run = { calculation: "ranges", params, packSize: 1, ...(reuse && { reuse }) };
  const request = { name, cron: "* * * * *", ...asked, run };
  return Date.parse((await finish(script, addSchedule(script.engine.client, request))).first.due);
}

const finish = <T>(script: Script, work: Promise<T>): Promise<T> => script.world.finish(work);
const remove = (script: Script, name: string) => finish(script, deleteSchedule(script.engine.client, name));

async function viewOf(script: Script, name: string) {
  const found = await finish(script, readSchedules(script.engine.client));
  return found.schedules.find((one) => one.name === name);
}

/** The runs of a schedule so far, oldest first. */
function runsOf({ judge }: Script, name: string) {
  const all = [...judge.ledger.runs.values()].filter(({ id }) => parseScheduledRun(id)?.schedule === name);
  return all.filter(({ spec }) => spec !== undefined).sort((a, b) => a.id.localeCompare(b.id));
}

const phases = (script: Script, name: string): string[] =>
  runsOf(script, name).map(({ state }) => state?.phase ?? "waiting");

/**
 * Schedules for some minutes: one of which a run is deleted and one is triggered, and one whose runs outlast it. The first is
 * paused and resumed, and both are deleted.
 */
export async function liveBySchedule(life: Script, anotherComes: () => void): Promise<void> {
  const { engine, until, must } = life;
  const dueMs = await add(life, "s", { overlap: "allow" });
  await add(life, "C", { chunks: 14 });
  await life.world.until(() => runsOf(life, "s").length > 0, 3 * minuteMs);
  anotherComes();
  await until("the first has ended", () => phases(life, "s")[0] === "complete");
  const first = runsOf(life, "s")[0]?.id ?? "";
  await life.tell("delete", first);
  await until("it is deleted", () => life.run(first) === undefined);
  await finish(life, pauseSchedule(engine.client, "s", true));
  const at = new Date(dueMs - minuteMs).toISOString();
  const { run: late } = await finish(life, triggerSchedule(engine.client, "s", at));
  await until("what was triggered has ended", () => life.run(late)?.state?.phase === "complete");
  await finish(life, pauseSchedule(engine.client, "s", false));
  const before = runsOf(life, "s").length;
  await until("it is due again", () => runsOf(life, "s").length > before, 30 * minuteMs);
  for (const name of ["s", "C"]) await remove(life, name);
  for (const { id, marker } of runsOf(life, "C"))
    if (marker !== undefined) await life.tell("cancel", id).catch(() => {});
  await until("all have ended", () => runsOf(life, "s").every(({ marker }) => marker === undefined));
  // A spec that was in a socket for minutes may be there again, without a marker.
  must(life.judge.ledger.current(first, "marker") === undefined, "what was deleted is gone");
}

export const schedules: Readonly<Record<string, Scenario>> = {
  "due runs are submitted by whoever leads, with clocks that are minutes apart": () =>
    play({ seed: 71, calm: true, chunkMs: () => 200 }, async (script) => {
      for (const skewMs of [-400_000, 0, 500_000]) script.start({ ...leaderOnly, budgetMs: 40_000, skewMs });
      script.start(workerOnly);
      await add(script, "s");
      await script.world.advance(20 * minuteMs);
      const ended = phases(script, "s").filter((phase) => phase === "complete").length;
      script.must(ended >= 19, `${ended} of 20 runs are complete`);
      await remove(script, "s");
    }),

  "nobody led for hours: what was due within the hour is run, and the others are skipped": () =>
    play({ seed: 72, calm: true }, async (script) => {
      const firstMs = await add(script, "s", { overlap: "allow", cron: "*/10 * * * *" });
      await script.world.advance(3 * 60 * minuteMs + 30_000);
      script.start();
      await script.until("it is served", () => runsOf(script, "s").length >= 6);
      await script.world.advance(20_000);
      const { last, skipped } = (await viewOf(script, "s")) ?? {};
      script.must(runsOf(script, "s").length === 6, "those of the last hour are run");
      script.must(Date.parse(last?.due ?? "") - firstMs === 17 * 10 * minuteMs, "the last of them is told");
      script.must(Date.parse(skipped ?? "") === firstMs, "what is skipped is told from the first");
      await remove(script, "s");
    }),

  "a run that outlasts its schedule: the next are skipped, or run beside it": () =>
    play({ seed: 73, calm: true, chunkMs: () => 10_000 }, async (script) => {
      script.start({ threads: 4 });
      for (const overlap of ["skip", "allow"] as const) await add(script, overlap, { overlap, chunks: 40 });
      await script.world.advance(6 * minuteMs);
      script.must((await viewOf(script, "skip"))?.skipped !== undefined, "skips are told");
      script.must(runsOf(script, "skip").length < 5, "runs do not overlap");
      script.must(runsOf(script, "allow").length >= 5, "runs overlap where they may");
      for (const name of ["skip", "allow"]) await remove(script, name);
    }),

  "a run that a person deletes while its schedule cannot be written does not begin anew": () =>
    play({ seed: 74, chunkMs: () => 50 }, async (script) => {
      // The leader submits, and can record nothing of it until it dies.
      let broken = true;
      const weather: Weather<FarCall> = {
        calm: false,
        fateOf({ op, args }) {
          const records = op === "blobs.setMetadata" && String(args[1]).startsWith(scheduleBlobs);
          return broken && records && runsOf(script, "s").length > 0 ? "lost request" : "arrives";
        },
      };
      script.start({ ...leaderOnly, weather });
      script.start(workerOnly);
      await add(script, "s", { cron: "*/5 * * * *", overlap: "allow" });
      await script.until("the run has ended", () => phases(script, "s")[0] === "complete");
      const { id = "" } = runsOf(script, "s")[0] ?? {};
      await script.tell("delete", id);
      await script.world.advance(20_000);
      script.must(script.run(id) !== undefined, "its deletion waits for the record");
      broken = false;
      await script.until("it is deleted", () => script.run(id) === undefined);
      await script.world.advance(30_000);
      script.must(script.run(id) === undefined, "it stays deleted");
      await remove(script, "s");
    }),

  "a person's run has the id of a due run: the schedule says so and continues": () =>
    play({ seed: 75, calm: true }, async (script) => {
      script.start();
      const firstMs = await add(script, "s");
      const takenMs = firstMs + minuteMs;
      await script.submit({ id: scheduledRunId("s", takenMs), chunks: 3 });
      await script.world.advance(4 * minuteMs);
      const { last, skipped } = (await viewOf(script, "s")) ?? {};
      script.must(Date.parse(skipped ?? "") === takenMs, "it is told");
      script.must(Date.parse(last?.due ?? "") > takenMs, "the next ones run");
      await remove(script, "s");
    }),

  "each run of a schedule that reuses takes what the one before has": () =>
    play({ seed: 76, calm: true }, async (script) => {
      script.start();
      await add(script, "s", { reuse: true, chunks: 6 });
      await script.until("one is complete", () => phases(script, "s")[0] === "complete");
      await script.until("another is complete", () => phases(script, "s")[1] === "complete", 3 * minuteMs);
      const [first, second] = runsOf(script, "s");
      script.must(second?.copied.size === second?.parts.size, "all packs are copied");
      script.must(second?.spec?.reuse?.run === first?.id, "they are those of the first");
      await remove(script, "s");
    }),
};
