import { AsyncLocalStorage } from "node:async_hooks";
import type { InvocationContext } from "@azure/functions";
import type { Log, LogEvent } from "../model/log.ts";

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
