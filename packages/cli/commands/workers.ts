import type { Command } from "commander";
import type { WorkAtHand, Worker, Workers } from "../../../src/engine/client/inspection/workers.ts";
import { atHandText } from "../../../src/engine/model/packs.ts";
import type { Session } from "../cli.ts";
import { liveLine } from "../render/progress.ts";
import { type Row, right, table, wrapped } from "../render/table.ts";
import { clip, count, countOf, duration, oneLine, type Screen } from "../render/text.ts";

const watchEveryMs = 1_000;

/** `leasefold workers`: who computes what, and for how long, by the heartbeats of the instances. */
export function addWorkers(program: Command, session: Session): void {
  program
    .command("workers")
    .description("list the instances at work: what each computes for how long, memory, last heartbeat")
    .option("--watch", "poll every second until Ctrl-C; without a terminal, print a table for each change")
    .action(async ({ watch }: { readonly watch?: boolean }) => {
      const { workers } = await session.api();
      const { clock, out, signal } = session.cli;
      const live = liveLine(out, clock);
      do {
        const found = await workers();
        if (session.json()) await session.printJson(found);
        else if (watch === true) await live.show(textOf(out, found, 1), keyOf(found));
        else await session.print(textOf(out, found));
        if (watch === true) await clock.sleep(watchEveryMs, signal);
      } while (watch === true && !signal.aborted);
      await live.end();
      if (watch !== true) await session.noteInstancesDown();
    });
}

const columns = ["INSTANCE", "HEARTBEAT", wrapped("COMPUTES"), right("FOR")];

/** `spare` columns stay free at the right, where a full line would begin another. */
function textOf(screen: Screen, found: Workers, spare = 0): string {
  if (found.workers.length + found.unreadable.length === 0)
    return "nobody computes anything that takes longer than a second";
  const room = { color: screen.color, columns: screen.columns - spare };
  const shown = table(
    room,
    columns,
    found.workers.flatMap((one) => rowsOf(one, Number.isFinite(room.columns))),
  );
  const others = found.unreadable.map(({ blob, reason }) =>
    clip(oneLine(`${blob} cannot be read: ${reason}`), room.columns),
  );
  return [...(found.workers.length === 0 ? [] : [shown.trimEnd()]), ...others].join("\n");
}

/** Room for what an instance computes, on a terminal of 80 columns. */
const nameWidth = 20;

/** A row of the instance, and one for each piece of work. */
function rowsOf(worker: Worker, isNarrow: boolean): readonly Row[] {
  const cut = (text: string): string => clip(oneLine(text), isNarrow ? nameWidth : Number.POSITIVE_INFINITY);
  const { instance, version, threads, memoryMb, state, ended = "", heartbeatAgeS, computes, holds } = worker;
  const heartbeats = {
    live: `${duration(heartbeatAgeS)} ago`,
    silent: { text: `silent ${duration(heartbeatAgeS)}`, style: "yellow" },
    ended: { text: cut(ended), style: "red" },
  } as const;
  const about = `${countOf(threads, "thread")}, ${count(memoryMb)} MB, ${oneLine(version)}`;
  return [
    [cut(instance), heartbeats[state], { text: about, style: "dim" }],
    ...computes.map((one): Row => ["", "", textOfWork(one), duration(one.forS)]),
    ...holds.map((one): Row => ["", "", { text: textOfWork(one), style: "dim" }, "waits"]),
  ];
}

const textOfWork = (one: WorkAtHand): string => `${one.run} ${atHandText(one)}`;

/** Who computes what; the ages change all the time. */
const keyOf = ({ workers: all }: Workers): string =>
  JSON.stringify(
    all.map(({ boot, state, computes }) => [boot, state, computes.map(({ run, work }) => `${run} ${work}`)]),
  );
