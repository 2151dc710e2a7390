import { AsyncLocalStorage } from "node:async_hooks";
import type { InvocationContext } from "@azure/functions";
import type { ElectionEvent } from "../election/events.ts";
import { type Log, type LogEvent, logEvents } from "../model/log.ts";

type Sink = Pick<InvocationContext, "debug" | "info" | "warn" | "error">;

const current = new AsyncLocalStorage<Sink>();

/** Runs a handler so that whatever it logs belongs to its invocation. */
export const withLogOf = <T>(context: Sink, handler: () => Promise<T>): Promise<T> =>
  current.run(context, handler);

/** Writes an event as one line of JSON; outside of an invocation to the console, which the host collects too. */
export const log: Log = (event) => {
  (current.getStore() ?? console)[event.level](lineOf(event));
};

export const lineOf = ({ event, fields }: LogEvent): string => JSON.stringify({ event, ...fields });

/** Losing a race is a normal day; losing a lease is worth a look. */
const levels: Readonly<Record<ElectionEvent["kind"], LogEvent["level"]>> = {
  acquired: "info",
  claimed: "info",
  renewed: "debug",
  released: "info",
  contended: "info",
  tookOver: "info",
  lost: "warn",
  deposed: "warn",
};

/** Makes the election's events part of the log. */
export const electionLog =
  (log: Log) =>
  ({ kind, ...fields }: ElectionEvent): void =>
    log(logEvents.election(levels[kind], kind, fields));
