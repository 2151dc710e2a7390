import { app, type InvocationContext } from "@azure/functions";
import type { TickOutcome } from "../coordinator/tick.ts";
import { messageOf } from "../model/errors.ts";
import { logEvents } from "../model/log.ts";
import { namesOf, poisonOf } from "../model/names.ts";
import { handlePoison, handleWork } from "../worker/handleWork.ts";
import type { Delivery } from "../worker/ports.ts";
import type { App } from "./app.ts";
import { withLogOf } from "./logTo.ts";

/** The setting prefix of the data storage, for triggers and for the SDK alike. */
const connection = "DataStorage";

/**
 * Registers timer and queue functions. Each is thin: it hands its trigger to the room that does the work. `getApp`
 * is asked with each invocation, so that storage which is away at start costs an invocation and not the process.
 */
export function registerTriggers(namespace: string, getApp: () => Promise<App>, lifecycle: Lifecycle): void {
  const names = namesOf(namespace);

  const tick = (startedBy: "tick" | "wake") => (_input: unknown, context: InvocationContext) =>
    withLogOf(context, () => lifecycle.during(() => raceOnce(getApp, lifecycle, startedBy)));

  app.timer("coordinator", { schedule: "%LEASEFOLD_SCHEDULE%", useMonitor: false, handler: tick("tick") });
  // The wake handler never throws: a wake is a hint, and a poisoned hint would only come back.
  app.storageQueue("wake", { queueName: names.wake, connection, handler: tick("wake") });

  for (const [name, queue, urgent] of [
    ["worker", names.packs, false],
    ["workerUrgent", names.urgent, true],
  ] as const) {
    app.storageQueue(name, {
      queueName: queue,
      connection,
      handler: (body: unknown, context) =>
        withLogOf(context, async () => {
          const { worker } = await getApp();
          await handleWork(worker, deliveryOf(body, context, queue, urgent));
        }),
    });
    app.storageQueue(`${name}Poison`, {
      queueName: poisonOf(queue),
      connection,
      handler: (body: unknown, context) =>
        withLogOf(context, async () => {
          const { worker } = await getApp();
          await handlePoison(worker, deliveryOf(body, context, poisonOf(queue), urgent));
        }),
    });
  }
}

/** What the process is up to, as far as functions need to know. */
export interface Lifecycle {
  /** Fires when the process is to stop. */
  readonly stopping: AbortSignal;
  /** Runs a tick, so that a stop can wait for its end. */
  during<T>(tick: () => Promise<T>): Promise<T>;
  ticked(): void;
}

async function raceOnce(
  getApp: () => Promise<App>,
  lifecycle: Lifecycle,
  startedBy: "tick" | "wake",
): Promise<void> {
  const startedAtMonotonicMs = performance.now();
  const app = await getApp();
  try {
    const { stopping } = lifecycle;
    const outcome = await app.coordinator.tick({ startedBy, startedAtMonotonicMs, stopping });
    lifecycle.ticked();
    const ms = Math.round(performance.now() - startedAtMonotonicMs);
    app.worker.log(logEvents.raceEnded({ outcome: outcome.kind, ...factsOf(outcome), ms }));
  } catch (error) {
    app.worker.log(logEvents.unexpected({ where: startedBy, message: messageOf(error) }));
    if (startedBy === "tick") throw error;
  }
}

/** What alerts need of an outcome: whether anybody leads, and if not, why. */
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

/**
 * Makes a delivery of what the queue trigger hands over. The library has parsed the body already where it was
 * JSON, so it is written out again; our own decoder reads it at the door of the worker room.
 */
export function deliveryOf(
  body: unknown,
  context: Pick<InvocationContext, "triggerMetadata">,
  queue: string,
  urgent: boolean,
): Delivery {
  const attempt = Number(context.triggerMetadata?.["dequeueCount"] ?? 1);
  return {
    queue,
    urgent,
    text: textOf(body, context),
    attempt: Number.isSafeInteger(attempt) && attempt > 0 ? attempt : 1,
  };
}

/**
 * JSON can be nested more deeply than it can be written out again. Such a body becomes a text that no message is, so
 * that it is recorded and dropped: a handler that threw would leave it in the poison queue for ever.
 */
function textOf(body: unknown, { triggerMetadata }: Pick<InvocationContext, "triggerMetadata">): string {
  if (typeof body === "string") return body;
  try {
    return JSON.stringify(body) ?? "";
  } catch (error) {
    return `message ${triggerMetadata?.["id"]} cannot be written out: ${messageOf(error)}`;
  }
}
