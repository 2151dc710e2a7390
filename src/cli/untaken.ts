import type { Client } from "../client/client.ts";
import { diagnose } from "../client/doctor/diagnose.ts";
import { leader } from "../client/leader.ts";
import { status } from "../client/status.ts";
import type { Session } from "./cli.ts";

/** With an instance alive a run is seen within a second or two. */
export const untakenMs = 5_000;
const pollMs = 250;

/** Waits until a leader has seen a new run. If none has in time, notes why the run waits. */
export async function noteUntaken(session: Session, run: string): Promise<void> {
  const { clock, signal } = session.cli;
  const client = await session.client();
  const untilMs = clock.monotonicMs() + untakenMs;
  while ((await status(client, run)).word === "waiting" && !signal.aborted) {
    if (clock.monotonicMs() >= untilMs) return await noteNobodyLeads(session, client, run);
    await clock.sleep(pollMs, signal);
  }
}

/** Notes that nobody leads, how to start an instance, and what `doctor` finds; nothing if somebody leads. */
export async function noteNobodyLeads(session: Session, client: Client, run: string): Promise<void> {
  const { env, signal } = session.cli;
  if ((await leader(client, signal)).kind === "leading") return;
  await session.note(
    `nobody leads: no instance has taken ${run} for ${untakenMs / 1_000} s, so it waits. Start the function app of ` +
      'this storage, or use "leasefold up", which runs instances and a storage of their own',
  );
  const connect = async () => client;
  const findings = await diagnose({ env, ofApp: false, hostJson: undefined, connect });
  const bad = findings.filter(({ state }) => state === "wrong" || state === "warning");
  for (const { what, cure = "" } of bad) await session.note(`doctor: ${what}; ${cure}`);
  if (bad.length === 0)
    await session.note("doctor finds nothing wrong with the settings here and the storage");
}
