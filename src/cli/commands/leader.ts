import type { Command } from "commander";
import { depose, type LeaderView, leader } from "../../client/leader.ts";
import { InputError } from "../../model/errors.ts";
import { leaderBlob } from "../../model/names.ts";
import type { Session } from "../cli.ts";
import { duration } from "../render/amounts.ts";
import { noteInstancesDown } from "../render/instancesDown.ts";
import { liveLine } from "../render/progress.ts";
import { clip, oneLine } from "../render/text.ts";

const watchEveryMs = 1_000;

interface LeaderOptions {
  readonly watch?: boolean;
  readonly name: string;
}

/** `leasefold leader`: who leads, since when and how it came to that; `leader break` deposes it. */
export function addLeader(program: Command, session: Session): void {
  const group = program
    .command("leader")
    .description("who leads: term, region, since when, last beat, and how it came to lead")
    .option("--watch", "look every second until Ctrl-C; without a terminal, a line for each change")
    .option("--name <election>", "another election than the app's own", leaderBlob)
    .action(async ({ watch, name }: LeaderOptions) => {
      const client = await session.client();
      const { cli } = session;
      if (watch !== true) {
        const seen = await leader(client, cli.signal, name);
        await noteInstancesDown(session);
        return session.json()
          ? await session.printJson(seen)
          : await session.print(leaderLine(seen, cli.clock.wallMs()));
      }
      const live = liveLine(cli.out, cli.clock);
      while (!cli.signal.aborted) {
        const seen = await leader(client, cli.signal, name);
        if (session.json()) await session.printJson(seen);
        else
          await live.show(clip(leaderLine(seen, cli.clock.wallMs()), cli.out.columns - 1), changeKey(seen));
        await cli.clock.sleep(watchEveryMs, cli.signal);
      }
      await live.end();
    });
  group
    .command("break")
    .description("depose the leader: it stops with its next beat, and any contender may lead")
    .option("--name <election>", "another election than the app's own")
    .option("--yes", "do not ask")
    .action(async (_own: object, command: Command) => {
      const { name, yes } = command.optsWithGlobals<LeaderOptions & { yes?: boolean }>();
      await breakLease(session, name, yes === true);
    });
}

async function breakLease(session: Session, name: string, yes: boolean): Promise<void> {
  const client = await session.client();
  const { cli } = session;
  const seen = await leader(client, cli.signal, name);
  if (!yes) {
    if (cli.confirm === undefined) {
      const why = "leader break needs --yes where nobody can be asked";
      throw new InputError("invalid", "not-confirmed", why, { field: "yes" });
    }
    await session.note(leaderLine(seen, cli.clock.wallMs()));
    if (!(await cli.confirm("Depose this leader?"))) {
      throw new InputError("conflict", "not-confirmed", "nothing was done");
    }
  }
  const deposed = await depose(client, name, "term" in seen ? seen.term : undefined);
  if (session.json()) return await session.printJson(deposed);
  const who = deposed.holder === undefined ? "whoever held the lease" : oneLine(deposed.holder);
  await session.print(`${who} is deposed${deposed.term === undefined ? "" : ` in term ${deposed.term}`}`);
}

const changeKey = (seen: LeaderView): string => ("term" in seen ? `${seen.kind} ${seen.term}` : seen.kind);

type Known = Extract<LeaderView, { readonly term: number }>;

const came: Readonly<Record<NonNullable<Known["cameBy"]>, string>> = {
  free: "the lease was free",
  "handed-over": "was handed the lease",
  expired: "took over after the lease ran out",
  broken: "took over by breaking the lease",
};

/** Who leads, on one line: the holder first, what it is doing last. */
export function leaderLine(seen: LeaderView, nowMs: number): string {
  switch (seen.kind) {
    case "never":
      return "nobody has ever led here";
    case "unreadable":
      return `the leader's record cannot be read: ${oneLine(seen.reason)}`;
    case "nobody":
      return [
        `nobody leads; the last was ${nameOf(seen)} in term ${seen.term}`,
        ...(seen.beatAgeS === undefined ? [] : [`${duration(seen.beatAgeS)} ago`]),
      ].join(", ");
    case "leading": {
      const forS = (nowMs - Date.parse(seen.since)) / 1000;
      const parts = [
        `${nameOf(seen)} leads in term ${seen.term} since ${seen.since.slice(11, 19)} UTC (${duration(forS)})`,
        ...(seen.beatAgeS === undefined ? [] : [`last beat ${duration(seen.beatAgeS)} ago`]),
        ...(seen.leaseLeftS === undefined ? [] : [`lease for ${duration(Math.floor(seen.leaseLeftS))} more`]),
        ...(seen.cameBy === undefined ? [] : [came[seen.cameBy]]),
      ];
      const notes = Object.entries(seen.notes).map(([name, value]) => `${oneLine(name)} ${oneLine(value)}`);
      return notes.length === 0 ? parts.join(", ") : `${parts.join(", ")}; ${notes.join(", ")}`;
    }
  }
}

const nameOf = ({ holder, region }: Known): string =>
  region === undefined ? oneLine(holder) : `${oneLine(holder)} (${oneLine(region)})`;
