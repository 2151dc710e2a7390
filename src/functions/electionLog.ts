import type { ElectionEvent } from "../election/events.ts";
import { type Log, type LogEvent, logEvents } from "../model/log.ts";

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
