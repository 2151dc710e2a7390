import { AsyncLocalStorage } from "node:async_hooks";
import type { InvocationContext } from "@azure/functions";
import type { ElectionEvent } from "../../election/events.ts";
import { type Log, type LogEvent, logEvents } from "../../engine/model/log.ts";

type Sink = Pick<InvocationContext, "debug" | "info" | "warn" | "error">;

const current = new AsyncLocalStorage<Sink>();

/** Runs a handler so that its log lines belong to its invocation. */
export const withLogOf = <T>(context: Sink, handler: () => Promise<T>): Promise<T> =>
  current.run(context, handler);

/** Writes an event as one line of JSON; outside an invocation to the console, which the host collects too. */
export const log: Log = ({ level, event, fields }) =>
  (current.getStore() ?? console)[level](JSON.stringify({ event, ...fields }));

/** Losing a race is expected; losing a lease deserves a warning. */
const levels: Readonly<Record<ElectionEvent["kind"], LogEvent["level"]>> = {
  acquired: "info",
  claimed: "info",
  renewed: "debug",
  released: "info",
  contended: "info",
  tookOver: "info",
  lost: "warn",
  deposed: "warn",
  unreachable: "warn",
};

export const logElection = ({ kind, ...fields }: ElectionEvent): void =>
  log(logEvents.election(levels[kind], kind, fields));
