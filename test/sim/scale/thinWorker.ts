import type { WorkMessage } from "../../../src/engine/model/message.ts";
import type { ReceivedMessage } from "../../../src/engine/storage/queuePort.ts";
import { endAttempt } from "../../../src/engine/worker/attempt/endAttempt.ts";
import { computePack } from "../../../src/engine/worker/compute.ts";
import { handleWork } from "../../../src/engine/worker/handleWork.ts";
import { makePollBackoff } from "../../../src/host/queueTrigger.ts";
import type { Instance } from "./platform.ts";
import { type WorkerOptions, workerPorts } from "./workerPorts.ts";

/**
 * The same calls as `hostedWorker` for a fraction of its time, so that a million packs can be simulated: packs go
 * straight to the app's `computePack`, without the decoding and the renewals of a host; everything else is the
 * app's own worker. A test holds the two to the same calls.
 */
export function thinWorker(options: WorkerOptions): Instance {
  const { storage, names, clock, random, takes } = options;
  const { queues } = storage;
  const ports = workerPorts(options);
  const { signal } = new AbortController();
  const task = { tag: "", limitMs: ports.packLimitMs, isolated: false };
  const attempt = { ...task, signal };
  const stopping = new AbortController();
  let running = 0;

  async function work(queue: string, { id, popReceipt, text, dequeueCount }: ReceivedMessage): Promise<void> {
    const urgent = queue === names.urgent;
    const delivery = { queue, text, attempt: dequeueCount, urgent };
    const message = JSON.parse(text) as WorkMessage;
    if (message.kind !== "compute") await handleWork(ports, delivery);
    else {
      const held = ports.heartbeats.hold(message);
      const ending = { ...delivery, held, startedMs: clock.monotonicMs() };
      const { plan, code } = message;
      await computePack(ports, { message, delivery, ...attempt, accepted: { plan, code }, begin: held.begin })
        .catch((error: unknown) => endAttempt(ports, message, ending, error))
        .finally(() => held.end());
    }
    await queues.remove(queue, id, popReceipt).catch(() => {});
  }

  async function listen(queue: string): Promise<void> {
    const backoff = makePollBackoff(2_000, random);
    let mine = 0;
    let found = true;
    let onFree: (() => void) | undefined;
    while (!stopping.signal.aborted) {
      if (mine >= takes) await new Promise<void>((free) => (onFree = free));
      const [message] = await queues.receive(queue, { max: 1, visibilityS: 600 }).catch(() => []);
      if (message === undefined) {
        await clock.sleep(backoff(found), stopping.signal);
        found = false;
        continue;
      }
      found = true;
      mine += 1;
      running += 1;
      void work(queue, message).finally(() => {
        mine -= 1;
        running -= 1;
        onFree?.();
      });
    }
  }
  for (const queue of options.listens ?? [names.urgent, names.packs]) void listen(queue);
  return { idle: () => running === 0, stop: () => stopping.abort() };
}
