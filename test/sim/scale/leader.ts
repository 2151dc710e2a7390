import { readFileSync } from "node:fs";
import { join } from "node:path";
import { electionFrom } from "../../../src/election/settings.ts";
import { Coordinator } from "../../../src/engine/leader/tick.ts";
import { readHostSettings } from "../../../src/engine/model/hostSettings.ts";
import type { Log } from "../../../src/engine/model/log.ts";
import type { Names } from "../../../src/engine/model/names.ts";
import { readSettings } from "../../../src/engine/model/settings.ts";
import type { Clock, Random, Storage } from "../../../src/engine/storage/ports.ts";

const hostJson = () =>
  readHostSettings(readFileSync(join(import.meta.dirname, "../../../host.json"), "utf8"), {});

/** Threads of an instance, and messages that each of its functions takes at once, as the app has them in Azure. */
export function appHost(): { readonly threads: number; readonly takes: number } {
  const { batchSize, newBatchThreshold } = hostJson().queues;
  const takes = batchSize + newBatchThreshold;
  return { threads: readSettings({}).LEASEFOLD_THREADS ?? takes, takes };
}

interface LeaderPorts {
  readonly storage: Storage;
  readonly names: Names;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The real coordinator with the app's defaults for Azure, as a fresh process has it. */
export function freshCoordinator(ports: LeaderPorts): Coordinator {
  const settings = readSettings({});
  return new Coordinator(
    { ...ports, onElection() {} },
    {
      holder: "leader",
      election: electionFrom(settings, hostJson()),
      loop: { loopMs: settings.LEASEFOLD_LOOP_MS, fastLoopMs: settings.LEASEFOLD_LOOP_FAST_MS },
      packLimitMs: settings.LEASEFOLD_PACK_LIMIT_S * 1_000,
      keepDays: settings.LEASEFOLD_KEEP_DAYS,
    },
  );
}

/** Such a coordinator on an instance of its own, with its ticks and wakes. */
export function startLeader(
  ports: LeaderPorts & {
    /** The host's own way to storage: it brings the wakes, whoever leads. */
    readonly host: Storage;
  },
): Coordinator {
  const { clock, names } = ports;
  const coordinate = freshCoordinator(ports);
  const tick = (startedBy: "tick" | "wake") =>
    coordinate.tick({ startedBy, startedAtMonotonicMs: clock.monotonicMs() });
  void (async () => {
    for (;;) {
      await clock.sleep(60_000);
      void tick("tick");
    }
  })();
  void listenForWakes(ports.host, clock, names.wake, () => tick("wake"));
  return coordinate;
}

/** One wake after the other, as the host brings them; an empty queue is looked at each two seconds. */
async function listenForWakes(
  { queues }: Storage,
  clock: Clock,
  queue: string,
  tick: () => Promise<unknown>,
): Promise<void> {
  for (;;) {
    const [message] = await queues.receive(queue, { max: 1, visibilityS: 600 }).catch(() => []);
    if (message === undefined) await clock.sleep(2_000);
    else {
      void tick();
      await queues.remove(queue, message.id, message.popReceipt).catch(() => undefined);
    }
  }
}
