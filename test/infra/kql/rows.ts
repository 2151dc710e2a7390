import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type LogEvent, logEvents } from "../../../src/engine/model/log.ts";
import { evaluateQuery } from "./evaluate.ts";
import type { Row } from "./expressions.ts";

/** The time at which queries are asked; rows say how many minutes before. */
const nowMs = Date.parse("2026-11-22T12:00:00Z");
const before = (minutes: number): number => nowMs - minutes * 60_000;

const levels = { debug: 0, info: 1, warn: 2, error: 3 } as const;

/** A line of the app as Application Insights stores it: `src/app/functions/logTo.ts` writes the message. */
export const said = (minutes: number, { level, event, fields }: LogEvent, more: Row = {}): Row => ({
  TimeGenerated: before(minutes),
  Message: JSON.stringify({ event, ...fields }),
  SeverityLevel: levels[level],
  OperationName: "coordinator",
  AppRoleName: "app-ne",
  Properties: { Category: "Function.coordinator.User" },
  ItemCount: 1,
  ...more,
});

export const elected = (minutes: number, kind: string, fields: LogEvent["fields"]): Row =>
  said(minutes, logEvents.election("info", kind, fields));

/**
 * Categories of rows as the host's sources name them (github.com/Azure/azure-functions-host at 89dc438, paths below src).
 * Those of the two classes are their full names, because they take an `ILogger<T>`; host#7419 shows the first in a workspace.
 */
export const categories = {
  /** azure-webjobs-sdk, Loggers/LogCategories.cs; host#6564 shows both rows of one failed invocation. */
  failedInvocation: ["Host.Results", "Function.worker"],
  /** WebJobs.Script/Host/ScriptHost.cs: LogCategories.Startup. */
  startup: "Host.Startup",
  /** WebJobs.Script/Workers/Rpc/RpcWorkerProcessFactory.cs. */
  process: "Worker.rpcWorkerProcess.node.3f2a",
  /** WebJobs.Script.WebHost/WebScriptHostExceptionHandler.cs. */
  unhandled: "Microsoft.Azure.WebJobs.Script.WebHost.WebScriptHostExceptionHandler",
  /** WebJobs.Script/Host/HostIdValidator.cs. */
  hostId: "Microsoft.Azure.WebJobs.Script.HostIdValidator",
} as const;

/** A line of the host itself. */
export const hostSaid = (minutes: number, category: string, message: string, severity = 3): Row => ({
  ...{ TimeGenerated: before(minutes), Message: message, SeverityLevel: severity, OperationName: "" },
  ...{ AppRoleName: "app-ne", Properties: { Category: category }, ItemCount: 1 },
});

/** An exception that the host logged: the innermost message is that of what was thrown first. */
export const thrown = (
  minutes: number,
  category: string,
  type: string,
  outer: string,
  innermost = outer,
): Row => ({
  ...{ TimeGenerated: before(minutes), OuterType: type, OuterMessage: outer, InnermostMessage: innermost },
  ...{ SeverityLevel: 3, AppRoleName: "app-ne", OperationName: "", ItemCount: 1 },
  Properties: { Category: category },
});

const folder = join(import.meta.dirname, "../../../infra/queries");

/** The rows that a query of the templates yields; an alert fires where there is one. */
export const asked = (name: string, tables: Readonly<Record<string, readonly Row[]>>): readonly Row[] =>
  evaluateQuery(readFileSync(join(folder, `${name}.kql`), "utf8"), tables, nowMs);
