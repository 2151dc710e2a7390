import { type LeadResult, leadOn } from "../../../src/election/api/lead.ts";
import type { OnElectionEvent } from "../../../src/election/events.ts";
import { leader } from "../../../src/engine/client/leader.ts";
import type { AddCommand, Session } from "../cli.ts";
import { anotherLeads, interruptedBy, lostLease } from "../exitCodes.ts";
import { badOption, wholeOption } from "../options.ts";
import { oneLine } from "../render/text.ts";
import { runWhileLeading, type StartChild, startChild } from "./runWhileLeading.ts";

interface LeadOptions {
  readonly name: string;
  readonly wait?: boolean;
  readonly grace: number;
  readonly holder?: string;
}

const graceSMax = 30;
/** Time between SIGKILL and the moment when another can acquire the lease. */
const killMarginMs = 1_000;

export const leadWith =
  (start: StartChild): AddCommand =>
  (program, session) => {
    program
      .command("lead")
      .description("run a command only while this machine leads an election")
      .requiredOption("--name <election>", "name of the election; contenders with the same name compete")
      .option("--wait", "wait to lead, instead of ending with 75 if another leads")
      .option("--grace <seconds>", "time from SIGTERM to SIGKILL, at most 30", wholeOption, 5)
      .option("--holder <text>", "name to show as the leader (default: host name and process id)")
      .argument("<command...>", "the command and its arguments after --, such as: -- node job.js")
      .addHelpText("after", () => `\n${help}`)
      .action((command: string[], options: LeadOptions) => lead(session, start, command, options));
  };

/** `leasefold lead`: a command that runs on one of many machines, such as a cron task. */
export const addLead = leadWith(startChild);

const help = `The command's exit code is passed on; 75: another leads; 76: the lease was lost and the command stopped.
Signals to leasefold are passed on. LEASEFOLD_TERM and LEASEFOLD_HOLDER tell the command its term.
When the lease cannot be renewed the command gets SIGTERM, and SIGKILL before another can lead.
Nothing stops the command while leasefold itself is stopped or was killed with SIGKILL, and nothing
stops what the command has started. If two at once would do harm, let it write with its term.`;

async function lead(
  session: Session,
  start: StartChild,
  command: readonly string[],
  { name, wait = false, grace, holder }: LeadOptions,
): Promise<void> {
  if (grace < 1 || grace > graceSMax)
    throw badOption("grace", `${grace}: must be from 1 to ${graceSMax} seconds`, "bad-grace");
  const { cli } = session;
  const client = await session.storage();
  const graceMs = grace * 1_000;
  session.stopMs = graceMs + 10_000;
  if (wait) await noteLeader(session, name);

  // An interrupt ends the wait; a command that runs gets the interrupt, and the lease is held until it has ended.
  const campaign = new AbortController();
  let running = false;
  const onInterrupt = (): void => {
    if (!running) campaign.abort();
  };
  cli.signal.addEventListener("abort", onInterrupt, { once: true });
  if (cli.signal.aborted) onInterrupt();

  const { storage, names } = client;
  const container = names.coordination;
  const ports = {
    ...client,
    container,
    blobs: storage.blobs,
    lease: (blob: string) => storage.lease(container, blob),
  };
  let isSilent = false;
  const on: OnElectionEvent = (event) => {
    if (event.kind === "unreachable" && !isSilent)
      void session.note(`waiting: storage does not answer: ${oneLine(event.reason)}`);
    isSilent = event.kind === "unreachable";
  };
  const settings = {
    name,
    wait,
    once: true,
    signal: campaign.signal,
    on,
    ...(holder === undefined ? {} : { holder }),
    leaseDurationS: Math.min(60, Math.max(15, 3 * (grace + 1))),
    marginMs: graceMs + killMarginMs,
    drainCapMs: graceMs + killMarginMs,
  };
  const result = await leadOn(ports, settings, async (leading) => {
    running = true;
    const { term } = leading;
    await session.note(`${oneLine(leading.holder)} leads "${oneLine(name)}" in term ${term}`);
    const env = { LEASEFOLD_TERM: String(term), LEASEFOLD_HOLDER: leading.holder };
    const child = start(command, env, (why) => void session.note(`leasefold: ${oneLine(why)}`));
    const forwarded = () => forwardedSignal(session);
    return runWhileLeading(cli.clock, leading, child, { graceMs, interrupt: cli.signal, forwarded });
  });
  await tellResult(session, name, result);
}

async function tellResult(session: Session, name: string, result: LeadResult<number>): Promise<void> {
  if (result.kind === "follower") {
    const { leader: other } = result;
    const shown =
      other.kind === "known" ? `${oneLine(other.record.holder)} in term ${other.record.term}` : "another";
    await session.note(`${shown} leads "${oneLine(name)}"; the command was not run`);
    session.exitCode = anotherLeads;
    return;
  }
  session.keepsExitCode = true;
  if (result.kind === "lost")
    await session.note(
      `the lease was lost in term ${result.term} (${result.cause}); the command was stopped`,
    );
  const other = result.kind === "lost" ? lostLease : interruptedBy(session.cli.signal);
  session.exitCode = result.kind === "done" ? result.value : other;
}

async function noteLeader(session: Session, name: string): Promise<void> {
  const seen = await leader(await session.storage(), session.cli.signal, name);
  if (seen.kind !== "leading") return;
  await session.note(`waiting: ${oneLine(seen.holder)} leads "${oneLine(name)}" in term ${seen.term}`);
}

/** Undefined for Ctrl-C in a terminal, which sends it to the command as well; many programs take a second one as a kill. */
function forwardedSignal({ cli }: Session): NodeJS.Signals | undefined {
  const name = cli.signal.reason instanceof Error ? cli.signal.reason.message : "";
  if (name === "SIGINT" && cli.err.isTty) return undefined;
  return name === "SIGINT" || name === "SIGHUP" ? name : "SIGTERM";
}
