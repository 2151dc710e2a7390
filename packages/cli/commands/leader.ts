import type { Command } from "commander";
import { depose, type LeaderView, leader } from "../../../src/engine/client/leader.ts";
import { leaderBlob } from "../../../src/engine/model/names.ts";
import type { Session } from "../cli.ts";
import { liveLine } from "../render/progress.ts";
import { clip, duration, oneLine } from "../render/text.ts";

const watchEveryMs = 1_000;

interface LeaderOptions {
  readonly watch?: boolean;
  readonly name: string;
}

/** `leasefold leader`: who leads, since when, and how the lease was acquired; `leader break` deposes the leader. */
export function addLeader(program: Command, session: Session): void {
  const group = program
    .command("leader")
    .description("show who leads: term, region, since when, last heartbeat, and how it came to lead")
    .option("--watch", "poll every second until Ctrl-C; without a terminal, print a line for each change")
    .option("--name <election>", "name of the election, if not the app's own", leaderBlob)
    .action(({ watch, name }: LeaderOptions) =>
      watch === true ? watchLeader(session, name) : showLeader(session, name),
    );
  group
    .command("break")
    .description("depose the leader: it stops with its next heartbeat, and any contender may lead")
    .option("--name <election>", "name of the election, if not the app's own")
    .option("--yes", "do not ask")
    .action(async (_own: object, command: Command) => {
      const { name, yes } = command.optsWithGlobals<LeaderOptions & { yes?: boolean }>();
      await breakLease(session, name, yes === true);
    });
}

async function showLeader(session: Session, name: string): Promise<void> {
  const { signal, clock } = session.cli;
  const seen = await leader(await session.storage(), signal, name);
  await session.noteInstancesDown();
  if (session.json()) return await session.printJson(seen);
  await session.print(leaderLine(seen, clock.wallMs()));
}

async function watchLeader(session: Session, name: string): Promise<void> {
  const client = await session.storage();
  const { clock, out, signal } = session.cli;
  const live = liveLine(out, clock);
  while (!signal.aborted) {
    const seen = await leader(client, signal, name);
    const key = "term" in seen ? `${seen.kind} ${seen.term}` : seen.kind;
    if (session.json()) await session.printJson(seen);
    else await live.show(clip(leaderLine(seen, clock.wallMs()), out.columns - 1), key);
    await clock.sleep(watchEveryMs, signal);
  }
  await live.end();
}

async function breakLease(session: Session, name: string, yes: boolean): Promise<void> {
  const client = await session.storage();
  const { cli } = session;
  const seen = await leader(client, cli.signal, name);
  if (!yes)
    await session.confirm("leader break", leaderLine(seen, cli.clock.wallMs()), "Depose this leader?");
  const deposed = await depose(client, name, "term" in seen ? seen.term : undefined);
  if (session.json()) return await session.printJson(deposed);
  const who = deposed.holder === undefined ? "whoever held the lease" : oneLine(deposed.holder);
  await session.print(`${who} is deposed${deposed.term === undefined ? "" : ` in term ${deposed.term}`}`);
}

type Known = Extract<LeaderView, { readonly term: number }>;

const acquired: Readonly<Record<Known["cameBy"], string>> = {
  free: "the lease was free",
  "handed-over": "was handed the lease",
  expired: "took over after the lease expired",
  broken: "took over by breaking the lease",
};

/** Who leads, on one line: the holder first, its notes last. */
function leaderLine(seen: LeaderView, nowMs: number): string {
  if (seen.kind === "never") return "nobody has ever led here";
  if (seen.kind === "unreadable") return `the leader's record cannot be read: ${oneLine(seen.reason)}`;
  const { term, region, since, heartbeatAgeS, leaseLeftS, cameBy, notes } = seen;
  const holder = region === undefined ? oneLine(seen.holder) : `${oneLine(seen.holder)} (${oneLine(region)})`;
  const heartbeat = `${duration(heartbeatAgeS)} ago`;
  if (seen.kind === "nobody") return `nobody leads; the last was ${holder} in term ${term}, ${heartbeat}`;
  const forS = (nowMs - Date.parse(since)) / 1000;
  const parts = [
    `${holder} leads in term ${term} since ${since.slice(11, 19)} UTC (${duration(forS)})`,
    `last heartbeat ${heartbeat}`,
    ...(leaseLeftS === undefined ? [] : [`lease for ${duration(Math.floor(leaseLeftS))} more`]),
    acquired[cameBy],
  ];
  const noted = Object.entries(notes).map(([name, value]) => `${oneLine(name)} ${oneLine(value)}`);
  return noted.length === 0 ? parts.join(", ") : `${parts.join(", ")}; ${noted.join(", ")}`;
}
