import type { Client } from "../../client/client.ts";
import { leader } from "../../client/leader.ts";
import type { ElectionPorts } from "../../election/api/electionPorts.ts";
import { leadOn } from "../../election/api/lead.ts";
import { InputError } from "../../model/errors.ts";
import type { Session } from "../cli.ts";
import { anotherLeads, interrupted, lostLease } from "../exitCodes.ts";
import { wholeOption } from "../options.ts";
import type { AddCommand } from "../program.ts";
import { oneLine } from "../render/text.ts";
import { runWhileLeading, type StartChild, startChild } from "../runWhileLeading.ts";

interface LeadOptions {
  readonly name: string;
  readonly wait?: boolean;
  readonly grace: number;
  readonly holder?: string;
}

const graceSMax = 30;
/** Between SIGKILL and the moment the lease can be another's. */
const killMarginMs = 1_000;

export const leadWith =
  (start: StartChild): AddCommand =>
  (program, session) => {
    program
      .command("lead")
      .description("run a command only while this machine leads an election")
      .requiredOption("--name <election>", "who leads which: contenders with the same name compete")
      .option("--wait", "wait until it leads, instead of ending with 75 when another does")
      .option("--grace <seconds>", "time from SIGTERM to SIGKILL, at most 30", wholeOption, 5)
      .option("--holder <text>", "shown as the leader; host name and process id by default")
      .argument("<command...>", "after --, such as: -- node job.js")
      .addHelpText("after", () => `\n${help}`)
      .action((command: string[], options: LeadOptions) => lead(session, start, command, options));
  };

/** `leasefold lead`: cron on many machines, the job on one. */
export const addLead = leadWith(startChild);

const help = `The command's exit code is passed on; 75: another leads; 76: the lease was lost and the command stopped.
Signals to leasefold are passed on. LEASEFOLD_TERM and LEASEFOLD_HOLDER tell the command its term.
When the lease cannot be renewed the command gets SIGTERM, and SIGKILL before another can lead. What
this cannot do: stop the command while leasefold itself is stopped or was killed with SIGKILL, or
stop what the command has started. Let it write with its term where two at once would do harm.`;

async function lead(
  session: Session,
  start: StartChild,
  command: readonly string[],
  { name, wait = false, grace, holder }: LeadOptions,
): Promise<void> {
  if (grace < 1 || grace > graceSMax) {
    const rule = `--grace: ${grace} is not from 1 to ${graceSMax} seconds`;
    throw new InputError("invalid", "bad-grace", rule, { field: "grace" });
  }
  const { cli } = session;
  const client = await session.client();
  const graceMs = grace * 1_000;
  session.setStopMs(graceMs + 10_000);
  if (wait) await tellWaiting(session, client, name);

  // An interrupt ends the waiting; a command that runs gets it instead, and the lease is kept until it has ended.
  const campaign = new AbortController();
  let running = false;
  const onInterrupt = (): void => {
    if (!running) campaign.abort();
  };
  cli.signal.addEventListener("abort", onInterrupt, { once: true });
  if (cli.signal.aborted) onInterrupt();

  const timings = {
    leaseDurationS: Math.min(60, Math.max(15, 3 * (grace + 1))),
    marginMs: graceMs + killMarginMs,
    drainCapMs: graceMs + killMarginMs,
  };
  const who = holder === undefined ? {} : { holder };
  const result = await leadOn(
    portsOf(client),
    { name, wait, once: true, signal: campaign.signal, ...who, ...timings },
    async (leading) => {
      running = true;
      const { term } = leading;
      await session.note(`${oneLine(leading.holder)} leads "${oneLine(name)}" in term ${term}`);
      const child = start(command, { LEASEFOLD_TERM: String(term), LEASEFOLD_HOLDER: leading.holder });
      return runWhileLeading(cli.clock, leading, child, {
        graceMs,
        interrupt: cli.signal,
        passOn: passedOn(session),
      });
    },
  );
  switch (result.kind) {
    case "done":
      return session.keepExitCode(result.value);
    case "lost":
      await session.note(
        `the lease was lost in term ${result.term} (${result.cause}); the command was stopped`,
      );
      return session.keepExitCode(lostLease);
    case "stopped":
      return session.keepExitCode(interrupted);
    case "follower": {
      const { leader: other } = result;
      const shown =
        other.kind === "known" ? `${oneLine(other.record.holder)} in term ${other.record.term}` : "another";
      await session.note(`${shown} leads "${oneLine(name)}"; the command was not run`);
      return session.setExitCode(anotherLeads);
    }
  }
}

async function tellWaiting(session: Session, client: Client, name: string): Promise<void> {
  const seen = await leader(client, session.cli.signal, name);
  if (seen.kind !== "leading") return;
  await session.note(`waiting: ${oneLine(seen.holder)} leads "${oneLine(name)}" in term ${seen.term}`);
}

const portsOf = ({ storage, names, clock, random }: Client): ElectionPorts => ({
  container: names.coordination,
  blobs: storage.blobs,
  lease: (blob) => storage.lease(names.coordination, blob),
  clock,
  random,
});

/** A terminal sends Ctrl-C to the command as well, and many programs take a second one as an order to drop everything. */
function passedOn({ cli }: Session): () => NodeJS.Signals | undefined {
  return () => {
    const name = cli.signal.reason instanceof Error ? cli.signal.reason.message : "";
    if (name === "SIGINT" && cli.err.isTty) return undefined;
    return name === "SIGINT" || name === "SIGHUP" ? name : "SIGTERM";
  };
}
