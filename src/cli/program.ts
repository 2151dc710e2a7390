import { Command } from "commander";
import type { Session } from "./cli.ts";
import { addCalculations, addNew } from "./commands/calculations.ts";
import { addCheck } from "./commands/check.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addFailures } from "./commands/failures.ts";
import { addQueues, addRuns, addStatus } from "./commands/inspect.ts";
import { addLeader } from "./commands/leader.ts";
import { addPlan } from "./commands/plan.ts";
import { addResult } from "./commands/result.ts";
import { addCancel, addCap, addDelete, addPauseAndResume, addRetry } from "./commands/steer.ts";
import { addSubmit, addUpload } from "./commands/submit.ts";
import { addVerify } from "./commands/verify.ts";
import { exitCodeHelp } from "./exitCodes.ts";

export type AddCommand = (program: Command, session: Session) => void;

/** In the order of a run's journey, which is also that of the help. */
const commands: readonly AddCommand[] = [
  addCalculations,
  addNew,
  addCheck,
  addUpload,
  addPlan,
  addSubmit,
  addRuns,
  addStatus,
  addPauseAndResume,
  addCap,
  addCancel,
  addFailures,
  addRetry,
  addResult,
  addVerify,
  addDelete,
  addLeader,
  addQueues,
  addDoctor,
];

/** `leasefold` and its commands; `more` adds those that run instances on this machine. */
export function makeProgram(session: Session, version: string, more: readonly AddCommand[] = []): Command {
  const program = new Command("leasefold")
    .description(
      "One big calculation, cut into chunks, computed on Azure Functions and folded into one result.",
    )
    .version(version)
    .option("--connection <string>", "connection string of the storage account")
    .option("--account <name>", "storage account to reach with your Azure sign-in")
    .option("--namespace <prefix>", "prefix of every container and queue (default: leasefold)")
    .option("--json", "JSON for programs instead of text for people", false)
    .addHelpText("after", () => `\n${helpEpilogue}\n\n${exitCodeHelp()}`)
    .showSuggestionAfterError();
  for (const add of [...commands, ...more]) add(program, session);
  return program;
}

const helpEpilogue = `Storage: --connection, else --account, else the setting DataStorage (or
DataStorage__blobServiceUri and DataStorage__queueServiceUri), else the embedded
instances that run in this folder or above.`;
