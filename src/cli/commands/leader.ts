import type { Command } from "commander";
import { type LeaderView, leader } from "../../client/leader.ts";
import type { Session } from "../cli.ts";
import { duration } from "../render/amounts.ts";
import { liveLine } from "../render/liveLine.ts";
import { clip, oneLine } from "../render/plainText.ts";

const watchEveryMs = 1_000;

/** `leasefold leader`: who leads, since when, and how long ago it was last heard of. */
export function addLeader(program: Command, session: Session): void {
  program
    .command("leader")
    .description("who leads: term, since when, age of the last beat")
    .option("--watch", "look every second until Ctrl-C")
    .action(async (options: { watch?: boolean }) => {
      const client = await session.client();
      const { cli } = session;
      if (options.watch !== true) {
        const seen = await leader(client);
        return session.json()
          ? await session.printJson(seen)
          : await session.print(lineOf(seen, cli.clock.wallMs()));
      }
      const live = liveLine(cli.out, cli.clock);
      while (!cli.signal.aborted) {
        const seen = await leader(client, cli.signal);
        if (session.json()) await session.printJson(seen);
        else await live.show(clip(lineOf(seen, cli.clock.wallMs()), cli.out.columns - 1), keyOf(seen));
        await cli.clock.sleep(watchEveryMs, cli.signal);
      }
      await live.end();
    });
}

const keyOf = (seen: LeaderView): string => ("term" in seen ? `${seen.kind} ${seen.term}` : seen.kind);

export function lineOf(seen: LeaderView, nowMs: number): string {
  switch (seen.kind) {
    case "never":
      return "nobody has ever led here";
    case "unreadable":
      return `the leader's record cannot be read: ${oneLine(seen.reason)}`;
    case "nobody":
      return `nobody leads; the last was ${oneLine(seen.holder)} in term ${seen.term}, ${duration(seen.beatAgeS)} ago`;
    case "leading": {
      const since = `since ${seen.since.slice(11, 19)} UTC (${duration((nowMs - Date.parse(seen.since)) / 1000)})`;
      return `${oneLine(seen.holder)} leads in term ${seen.term} ${since}, last beat ${duration(seen.beatAgeS)} ago`;
    }
  }
}
