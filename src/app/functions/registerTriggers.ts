import { app, type InvocationContext } from "@azure/functions";
import type { Lead } from "../../engine/client/awaitRun.ts";
import type { TickOutcome, TickRequest } from "../../engine/leader/tick.ts";
import { messageOf } from "../../engine/model/errors.ts";
import { logEvents } from "../../engine/model/log.ts";
import { namesOf } from "../../engine/model/names.ts";
import { handleWork } from "../../engine/worker/handleWork.ts";
import type { Delivery } from "../../engine/worker/ports.ts";
import type { App } from "./app.ts";
import { connection } from "./connection.ts";
import { log, withLogOf } from "./logTo.ts";

/**
 * Registers timer and queue functions. Each invocation calls `getApp`, so that a failed start fails an invocation and not
 * the process.
 */
export function registerTriggers(
  namespace: string,
  getApp: () => Promise<Omit<App, "api">>,
  lifecycle: Lifecycle,
): void {
  const names = namesOf(namespace);

  const during = <T>(context: InvocationContext, handle: () => Promise<T>): Promise<T> =>
    withLogOf(context, () => lifecycle.during(handle));

  const tick = (startedBy: "tick" | "wake") => (_input: unknown, context: InvocationContext) =>
    during(context, () => raceOnce(getApp, lifecycle, startedBy));

  // With a monitor a tick that no instance met in time fires as soon as one is there; without it that instance would wait for
  // the next one, and Flex Consumption takes it away before.
  app.timer("coordinator", { schedule: "%LEASEFOLD_SCHEDULE%", useMonitor: true, handler: tick("tick") });
  // The wake handler never throws: a wake is only a hint, and a failed one would be delivered again.
  app.storageQueue("wake", { queueName: names.wake, connection, handler: tick("wake") });

  const work = (queue: string, urgent: boolean) => (body: unknown, context: InvocationContext) =>
    during(context, async () => {
      const waitedMs = tellLate(queue, urgent, context, Date.now());
      const { worker } = await getApp();
      await handleWork(worker, { ...deliveryOf(body, context, queue, urgent), waitedMs });
    });
  // The host polls each queue that has a function, so poison queues have none: the leader reads them where work stands still.
  for (const [name, queue, urgent] of [
    ["worker", names.packs, false],
    ["workerUrgent", names.urgent, true],
  ] as const)
    app.storageQueue(name, { queueName: queue, connection, handler: work(queue, urgent) });
}

/** Longest time that a message may wait for its first delivery before it is logged: packs wait behind other packs. */
const waitMaxS = { urgent: 300, packs: 3_600 };

/** Logs a first delivery that came late; how long it waited. The host's own lines on each delivery are off (host.json), for they cost per pack. */
export function tellLate(
  queue: string,
  urgent: boolean,
  { triggerMetadata }: Pick<InvocationContext, "triggerMetadata">,
  nowMs: number,
): number | undefined {
  const waitedMs = nowMs - Date.parse(plain(triggerMetadata?.["insertionTime"]));
  if (plain(triggerMetadata?.["dequeueCount"]) !== "1" || Number.isNaN(waitedMs)) return undefined;
  const waitedS = Math.round(waitedMs / 1_000);
  if (waitedS > (urgent ? waitMaxS.urgent : waitMaxS.packs)) log(logEvents.messageWaited({ queue, waitedS }));
  return Math.max(0, waitedMs);
}

/** The life of the process, as functions need it. */
export interface Lifecycle {
  /** Aborts when the process must stop. */
  readonly stopping: AbortSignal;
  /** Runs a handler that a stop waits for. */
  during<T>(handle: () => Promise<T>): Promise<T>;
  ticked(): void;
}

/** What a request of the API leads by. */
export const leadFor =
  (getApp: () => Promise<Omit<App, "api">>, lifecycle: Lifecycle): Lead =>
  (until) =>
    lifecycle.during(() => raceOnce(getApp, lifecycle, "wait", until));

/** Races, and leads if it wins, until the process stops or `until` fires. Only a tick that fails rejects. */
async function raceOnce(
  getApp: () => Promise<Omit<App, "api">>,
  lifecycle: Lifecycle,
  startedBy: TickRequest["startedBy"],
  until?: AbortSignal,
): Promise<void> {
  const startedAtMonotonicMs = performance.now();
  try {
    const app = await getApp();
    const stopping = until === undefined ? lifecycle.stopping : AbortSignal.any([lifecycle.stopping, until]);
    const outcome = await app.coordinator.tick({ startedBy, startedAtMonotonicMs, stopping });
    lifecycle.ticked();
    const ms = Math.round(performance.now() - startedAtMonotonicMs);
    log(logEvents.raceEnded({ outcome: outcome.kind, ...factsOf(outcome), ms }));
  } catch (error) {
    log(logEvents.unexpected({ where: startedBy, message: messageOf(error) }));
    if (startedBy === "tick") throw error;
  }
}

/** The fields of an outcome that alerts need: whether an instance leads and, if not, why. */
export function factsOf(outcome: TickOutcome): { term?: number; cause?: string; silentS?: number } {
  switch (outcome.kind) {
    case "led": {
      const { term, cause, error } = outcome;
      return { term, cause: cause === "failed" ? `failed: ${messageOf(error)}` : cause };
    }
    case "refused":
      return { cause: `${outcome.code}: ${outcome.reason}` };
    case "unreachable":
      return { cause: `${outcome.step}: ${messageOf(outcome.error)}` };
    case "follower": {
      const { leader } = outcome;
      return leader.kind === "known" ? { term: leader.record.term, silentS: leader.ageMs / 1_000 } : {};
    }
    default:
      return {};
  }
}

/** A delivery from a queue trigger. The library has parsed a JSON body, so it is serialized again for our own decoder. */
export function deliveryOf(
  body: unknown,
  context: Pick<InvocationContext, "triggerMetadata">,
  queue: string,
  urgent: boolean,
): Delivery {
  const attempt = Number(plain(context.triggerMetadata?.["dequeueCount"]) || 1);
  return {
    queue,
    urgent,
    text: textOf(body, context),
    attempt: Number.isSafeInteger(attempt) && attempt > 0 ? attempt : 1,
  };
}

/**
 * A body can be nested too deeply to be serialized. It becomes a text that is not a message, which is recorded and dropped;
 * a handler that threw would leave it in the poison queue forever.
 */
function textOf(body: unknown, { triggerMetadata }: Pick<InvocationContext, "triggerMetadata">): string {
  if (typeof body === "string") return body;
  try {
    return JSON.stringify(body) ?? "";
  } catch (error) {
    return `message ${plain(triggerMetadata?.["id"])} cannot be serialized: ${messageOf(error)}`;
  }
}

/**
 * A value of the trigger metadata as text. The host writes properties of the body over its own, and an object among them
 * may not be convertible: a handler that threw for it would never record the message. Whole numbers come as JSON.
 */
const plain = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";
