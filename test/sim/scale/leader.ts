import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Coordinator, coordinator } from "../../../src/coordinator/tick.ts";
import { electionFrom } from "../../../src/functions/electionFrom.ts";
import { readHostSettings } from "../../../src/model/hostSettings.ts";
import type { Log } from "../../../src/model/log.ts";
import type { Names } from "../../../src/model/names.ts";
import { readSettings } from "../../../src/model/settings.ts";
import type { Clock, Random, Storage } from "../../../src/storage/ports.ts";

/** The real coordinator with the app's defaults for Azure, on an instance of its own. */
export function startLeader(ports: {
  readonly storage: Storage;
  readonly names: Names;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The host's own way to storage: it brings the wakes, whoever leads. */
  readonly host: Storage;
}): Coordinator {
  const { clock, names, host: platform } = ports;
  const settings = readSettings({});
  const host = readHostSettings(readFileSync(join(import.meta.dirname, "../../../host.json"), "utf8"), {});
  const coordinate = coordinator(
    { ...ports, onElection() {} },
    {
      holder: "leader",
      election: electionFrom(settings, host),
      loop: { loopMs: settings.LEASEFOLD_LOOP_MS, fastLoopMs: settings.LEASEFOLD_LOOP_FAST_MS },
      keepDays: 0,
      packLimitMs: settings.LEASEFOLD_PACK_LIMIT_S * 1_000,
    },
  );
  const tick = (startedBy: "tick" | "wake") =>
    coordinate.tick({ startedBy, startedAtMonotonicMs: clock.monotonicMs() });
  void (async () => {
    for (;;) {
      await clock.sleep(60_000);
      void tick("tick");
    }
  })();
  void listenForWakes({ storage: platform, clock }, names.wake, () => tick("wake"));
  return coordinate;
}

/** One wake after the other, as the host brings them; an empty queue is looked at each two seconds. */
async function listenForWakes(
  { storage, clock }: { readonly storage: Storage; readonly clock: Clock },
  queue: string,
  tick: () => Promise<unknown>,
): Promise<void> {
  for (;;) {
    const [message] = await storage.queues.receive(queue, { max: 1, visibilityS: 600 }).catch(() => []);
    if (message === undefined) await clock.sleep(2_000);
    else {
      void tick();
      await storage.queues.remove(queue, message.id, message.popReceipt).catch(() => undefined);
    }
  }
}
