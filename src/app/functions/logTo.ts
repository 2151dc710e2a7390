import { AsyncLocalStorage } from "node:async_hooks";
import type { InvocationContext } from "@azure/functions";
import type { ElectionEvent } from "../../election/events.ts";
import { type Log, type LogEvent, logEvents } from "../../engine/model/log.ts";
import { traceIdOf } from "../../engine/model/trace.ts";

type Sink = Pick<InvocationContext, "debug" | "info" | "warn" | "error">;

const current = new AsyncLocalStorage<Sink>();

/** Runs a handler so that its log lines belong to its invocation. */
export const withLogOf = <T>(context: Sink, handler: () => Promise<T>): Promise<T> =>
  current.run(context, handler);

let taker: Log | undefined;

/** Each event goes there as well. */
export function alsoTo(take: Log): void {
  taker = take;
}

/** Writes an event as one line of JSON; outside an invocation to the console, which the host collects too. */
export const log: Log = (told) => {
  const { level, event, fields, of } = told;
  const trace = of && traceIdOf(of);
  (current.getStore() ?? console)[level](JSON.stringify({ event, ...fields, trace }));
  taker?.(told);
};

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
