import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import { electionFrom } from "../../src/election/settings.ts";
import { Coordinator, type TickRequest } from "../../src/engine/leader/tick.ts";
import { messageOf } from "../../src/engine/model/errors.ts";
import { readHostSettings } from "../../src/engine/model/hostSettings.ts";
import { namesOf } from "../../src/engine/model/names.ts";
import { readSettings } from "../../src/engine/model/settings.ts";
import type { ContentLease } from "../../src/engine/storage/ports.ts";
import { systemClock as clock, systemRandom as random } from "../../src/engine/storage/system.ts";
import { makePollBackoff } from "../../src/host/queueTrigger.ts";

/**
 * One contender in a process of its own, for the takeover bench: the app's coordinator with the app's settings, its
 * timer and its wake queue, and nothing else of an instance, so that a few dozen fit on one machine. It prints what
 * happens to it, one JSON a line, and its storage calls when a line `calls` comes in. A line `poll` is what an emulator
 * tells of a new message.
 */
const { env } = process;
const settings = readSettings(env);
const host = readHostSettings(readFileSync(env["BENCH_HOST_JSON"] ?? "", "utf8"), env);
const connectionString = env["DataStorage"] ?? "";
const tickEveryMs = Number(env["BENCH_TICK_MS"]);
const queueMaxMs = Number(env["BENCH_QUEUE_MS"]);
const names = namesOf(settings.LEASEFOLD_NAMESPACE);

const say = (line: object): void =>
  void process.stdout.write(`${JSON.stringify({ atMs: now(), ...line })}\n`);
/** Comparable between the processes of one machine. */
const now = (): number => performance.timeOrigin + performance.now();

const storage = connectStorage({ connectionString });
/** The moment before the release is the last one at which this process may have led. */
const told = (lease: ContentLease): ContentLease => ({
  ...lease,
  release(id, options) {
    say({ kind: "lets-go" });
    return lease.release(id, options);
  },
});
const contender = new Coordinator(
  {
    storage: { ...storage, lease: (container, blob) => told(storage.lease(container, blob)) },
    names,
    clock,
    random,
    log: () => {},
    onElection: (event) => {
      if (event.kind !== "renewed") say(event);
    },
  },
  {
    holder: settings.LEASEFOLD_INSTANCE ?? "",
    election: electionFrom(settings, host),
    keepDays: 0,
    packLimitMs: 60_000,
    loop: { loopMs: settings.LEASEFOLD_LOOP_MS, fastLoopMs: settings.LEASEFOLD_LOOP_FAST_MS },
  },
);

const stop = new AbortController();
const running = new Set<Promise<unknown>>();
function during(startedBy: TickRequest["startedBy"]): Promise<unknown> {
  const work = contender
    .tick({ startedBy, startedAtMonotonicMs: clock.monotonicMs(), stopping: stop.signal })
    .catch((error: unknown) => say({ kind: "threw", message: messageOf(error) }))
    .finally(() => running.delete(work));
  running.add(work);
  return work;
}

/** At the same moments in all processes, as one schedule gives them. */
async function tickForever(): Promise<void> {
  for (;;) {
    await sleep(tickEveryMs - (Date.now() % tickEveryMs));
    void during("tick");
  }
}

/** As the host polls a queue. With a storage of its own: the host's polls are no calls of a contender. */
async function obeyWakes(): Promise<void> {
  const { queues } = connectStorage({ connectionString });
  const backoff = makePollBackoff(queueMaxMs, random);
  while (!stop.signal.aborted) {
    const messages = await queues.receive(names.wake, { max: 1, visibilityS: 600 }).catch(() => []);
    for (const { id, popReceipt } of messages) {
      void during("wake").then(() => queues.remove(names.wake, id, popReceipt).catch(() => {}));
    }
    await clock.sleep(backoff(messages.length > 0), stop.signal);
  }
}

process.once("SIGTERM", async () => {
  stop.abort();
  await Promise.allSettled(running);
  process.exit(0);
});
process.stdin.on("data", (lines) => {
  if (String(lines).includes("calls")) say({ kind: "calls", counts: storage.meter.counts() });
});
process.stdin.once("end", () => process.exit(0));
say({ kind: "ready" });
void tickForever();
if (queueMaxMs > 0) void obeyWakes();
