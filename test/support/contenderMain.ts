import { connectStorage } from "../../src/azure/connectStorage.ts";
import { type Leadership, LostLeadership } from "../../src/election/hold/leadership.ts";
import { electionSettings } from "../../src/election/settings.ts";
import { DeposedError, takeOverState } from "../../src/engine/leader/perform/stateChain.ts";
import type { Leader } from "../../src/engine/leader/term.ts";
import { messageOf } from "../../src/engine/model/errors.ts";
import { namesOf } from "../../src/engine/model/names.ts";
import { systemClock as clock, systemRandom as random } from "../../src/engine/storage/system.ts";
import { raceAndLead } from "./raceAndLead.ts";

/**
 * A small process that contends for the lease for as long as it lives and, while it leads, writes a sealed state
 * again and again. Tells each step as a line of JSON. A line `block N` on its standard input blocks its event
 * loop for N ms by a synchronous loop.
 */
export interface ContenderOptions {
  readonly connectionString: string;
  readonly namespace: string;
  readonly holder: string;
  readonly breakAfterMs: number;
  /** Never asks whether it still leads. */
  readonly reckless?: boolean;
}

const options = JSON.parse(process.argv[2] ?? "{}") as ContenderOptions;
const say = (line: object): void => console.log(JSON.stringify(line));
const storage = connectStorage(options);
const names = namesOf(options.namespace);
const lease = storage.lease(names.coordination, "leader");
const settings = electionSettings({ breakAfterMs: options.breakAfterMs, watching: true });
const stopping = new AbortController();
let aboveTerm = 0;
let sequence = 0;

process.on("SIGTERM", () => stopping.abort());
process.on("unhandledRejection", (error) => say({ kind: "unhandled", error: messageOf(error) }));
process.stdin.unref?.();
process.stdin.on("data", (data: Buffer) => {
  const ms = Number(/^block (\d+)/.exec(data.toString())?.[1] ?? 0);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  if (ms > 0) say({ kind: "unblocked" });
});

async function lead(leadership: Leadership): Promise<void> {
  const { term, signal } = leadership;
  const leader: Leader = {
    ...leadership,
    lost: options.reckless === true ? new AbortController().signal : leadership.lost,
    assertLeading: () => {
      if (options.reckless !== true) leadership.assertLeading();
    },
  };
  const store = { storage, names, nextSequence: () => ++sequence };
  try {
    const chain = await takeOverState(store, leader, {
      ...{ id: "run", uid: "uid", generation: 1, cap: 1, nowMs: clock.wallMs() },
    });
    say({ kind: "sealed", term });
    for (let written = 0; !signal.aborted || (options.reckless === true && written < 3); ) {
      if (signal.aborted) written += 1;
      await chain.write(chain.state());
      await clock.sleep(150);
    }
  } catch (error) {
    if (error instanceof DeposedError) aboveTerm = Math.max(aboveTerm, error.seenTerm);
    else if (!(error instanceof LostLeadership)) say({ kind: "failed", term, error: messageOf(error) });
  }
}

await storage.blobs.ensureContainer(names.runs);
say({ kind: "ready" });
while (!stopping.signal.aborted) {
  const outcome = await raceAndLead({ lease, clock, random, on: say }, settings, {
    holder: options.holder,
    startedAtMonotonicMs: clock.monotonicMs(),
    startedBy: "wake",
    aboveTerm,
    worthLeading: async () => true,
    lead,
    stopping: stopping.signal,
  });
  say({ ...outcome, kind: "outcome", outcome: outcome.kind, error: undefined });
  await clock.sleep(200, stopping.signal);
}
process.exit(0);
