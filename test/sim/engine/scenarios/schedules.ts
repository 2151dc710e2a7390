import {
  addSchedule,
  deleteSchedule,
  pauseSchedule,
} from "../../../../src/engine/client/schedules/changeSchedule.ts";
import type { ScheduleRequest } from "../../../../src/engine/client/schedules/scheduleRequest.ts";
import { schedule } from "../../../../src/engine/client/schedules/schedules.ts";
import { parseScheduledRun, scheduleBlobs } from "../../../../src/engine/model/names.ts";
import type { FarCall } from "../../../support/farStorage.ts";
import type { Weather } from "../../../support/network.ts";
import { leaderOnly, play, type Script, workerOnly } from "../script.ts";
import type { Scenario } from "./scenarios.ts";

const minuteMs = 60_000;

type Asked = Partial<Omit<ScheduleRequest, "run" | "name">> & {
  readonly chunks?: number;
  readonly reuse?: true;
};

async function add(script: Script, name: string, { chunks = 2, reuse, ...asked }: Asked = {}): Promise<void> {
  const run = {
    calculation: "ranges",
    params: { chunks, list: false },
    packSize: 1,
    ...(reuse && { reuse }),
  };
  const request = { name, cron: "* * * * *", catchUpMs: 300_000, ...asked, run };
  await script.world.finish(addSchedule(script.engine.client, request));
}

const finish = <T>(script: Script, work: Promise<T>): Promise<T> => script.world.finish(work);
const viewOf = (script: Script, name: string) => finish(script, schedule(script.engine.client, name));

/** The runs of a schedule so far, oldest first. */
function runsOf({ judge }: Script, name: string) {
  const all = [...judge.ledger.runs.values()].filter(({ id }) => parseScheduledRun(id)?.schedule === name);
  return all.filter(({ spec }) => spec !== undefined).sort((a, b) => a.id.localeCompare(b.id));
}

const phases = (script: Script, name: string): string[] =>
  runsOf(script, name).map(({ state }) => state?.phase ?? "waiting");

/**
 * Schedules of each kind for some minutes: one whose runs wait for each other, one whose run is cancelled by the next, and one
 * of which a run is deleted. Then one is paused and resumed, and all are deleted.
 */
export async function liveBySchedule(life: Script, anotherComes: () => void): Promise<void> {
  const { engine, until, must } = life;
  await add(life, "s", { overlap: "allow" });
  await add(life, "q", { overlap: "queue", take: "all", chunks: 4 });
  await add(life, "C", { overlap: "cancel", cron: "*/2 * * * *", chunks: 14, jitterS: 5 });
  await life.world.until(() => runsOf(life, "s").length > 0, 3 * minuteMs);
  anotherComes();
  await until("the first has ended", () => phases(life, "s")[0] === "complete");
  const first = runsOf(life, "s")[0]?.id ?? "";
  await life.tell("delete", first);
  await until("it is deleted", () => life.run(first) === undefined);
  await finish(life, pauseSchedule(engine.client, "s", true));
  await until("one is cancelled", () => phases(life, "C").includes("cancelled"), 30 * minuteMs);
  await finish(life, pauseSchedule(engine.client, "s", false));
  const before = runsOf(life, "s").length;
  await until("it is due again", () => runsOf(life, "s").length > before, 30 * minuteMs);
  for (const name of ["s", "q", "C"]) await finish(life, deleteSchedule(engine.client, name));
  for (const { id, marker } of runsOf(life, "C"))
    if (marker !== undefined) await life.tell("cancel", id).catch(() => {});
  await until("all have ended", () =>
    ["s", "q"].every((name) => runsOf(life, name).every(({ marker }) => marker === undefined)),
  );
  // A spec without a state: the schedule was deleted before its marker.
  const states = runsOf(life, "q").flatMap(({ state }) => state ?? []);
  const others = states
    .filter(({ phase }) => phase !== "complete")
    .map(({ run, phase }) => `${run} is ${phase}`);
  must(others.length === 0, `those in a queue are complete: ${others.join()}`);
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
      await finish(script, deleteSchedule(script.engine.client, "s"));
    }),

  "nobody led for hours: the latest due time is run, and the others have a word": () =>
    play({ seed: 72, calm: true }, async (script) => {
      await add(script, "s");
      await add(script, "all", { take: "all", overlap: "allow" });
      await script.world.advance(3 * 60 * minuteMs + 30_000);
      script.start();
      await script.until(
        "both are served",
        () => runsOf(script, "s").length > 0 && runsOf(script, "all").length > 0,
      );
      await script.world.advance(20_000);
      script.must(runsOf(script, "s").length === 1, "one run of the latest");
      script.must(runsOf(script, "all").length === 5, "those of the window, where all are taken");
      const { recent } = await viewOf(script, "s");
      script.must(recent[0]?.outcome === "missed" && recent[0].count === 179, "179 are told to be missed");
      await finish(script, deleteSchedule(script.engine.client, "s"));
      await finish(script, deleteSchedule(script.engine.client, "all"));
    }),

  "a run that outlasts its schedule: the next are skipped, queued, or cancel it": () =>
    play({ seed: 73, calm: true, chunkMs: () => 1_000 }, async (script) => {
      script.start({ threads: 8 });
      for (const overlap of ["skip", "queue", "cancel"] as const)
        await add(script, overlap, { overlap, chunks: 800 });
      await script.world.advance(6 * minuteMs);
      const of = (name: string) => runsOf(script, name).length;
      script.must(
        (await viewOf(script, "skip")).recent.some(({ outcome }) => outcome === "overlap"),
        "skips are told",
      );
      script.must(of("skip") < 5 && of("queue") < 5, "runs do not overlap");
      script.must((await viewOf(script, "queue")).pending.length > 0, "some wait");
      script.must(phases(script, "cancel").includes("cancelled"), "one was cancelled for the next");
      for (const name of ["skip", "queue", "cancel"])
        await finish(script, deleteSchedule(script.engine.client, name));
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
      await finish(script, deleteSchedule(script.engine.client, "s"));
    }),

  "a person's run has the id of a due run: the schedule says so and continues": () =>
    play({ seed: 75, calm: true }, async (script) => {
      script.start();
      await add(script, "s");
      const { upcoming } = await viewOf(script, "s");
      await script.submit({ id: upcoming[1]?.run ?? "", chunks: 3 });
      await script.world.advance(4 * minuteMs);
      const { recent } = await viewOf(script, "s");
      script.must(
        recent.some(({ outcome }) => outcome === "id-taken"),
        "it is told",
      );
      script.must(recent.at(-1)?.outcome === "submitted", "the next ones run");
      await finish(script, deleteSchedule(script.engine.client, "s"));
    }),

  "each run of a schedule that reuses takes what the one before has, past one that never ended": () =>
    play({ seed: 76, calm: true }, async (script) => {
      script.start();
      await add(script, "s", { reuse: true, overlap: "allow", chunks: 6 });
      await script.until("one is complete", () => phases(script, "s")[0] === "complete");
      await script.until(
        "another is there",
        () => runsOf(script, "s")[1]?.marker !== undefined,
        3 * minuteMs,
      );
      await script.tell("cancel", runsOf(script, "s")[1]?.id ?? "");
      await script.until("a third is complete", () => phases(script, "s")[2] === "complete", 3 * minuteMs);
      const [first, , third] = runsOf(script, "s");
      const { reused } = third?.manifests.get(1) ?? {};
      script.must(
        reused?.packs === 6 && reused.runs.join() === first?.id,
        "all packs are those of the first",
      );
      await finish(script, deleteSchedule(script.engine.client, "s"));
    }),
};
