import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { inspect } from "node:util";
import type { FileAccess } from "../../src/engine/calculation/files.ts";
import { readSettings } from "../../src/engine/model/settings.ts";
import { listed, mayBeNamed, mayBeNamedRule } from "../../src/engine/model/userEnv.ts";
import { systemClock } from "../../src/engine/storage/system.ts";
import { printWarnings } from "../../src/engine/worker/threads/printWarnings.ts";
import type { UserCode } from "../../src/engine/worker/threads/userCode.ts";
import { threadEntry } from "../sql/app/threadEntry.ts";
import { findInstanceApi } from "./api.ts";
import { loadedCode } from "./askedCalculation.ts";
import type { AddCommand, Cli } from "./cli.ts";
import { addDown, addShow } from "./commands/instances.ts";
import { addLead } from "./commands/lead.ts";
import { addTry } from "./commands/try.ts";
import { addWork } from "./commands/work.ts";
import { connectClient, findInstances, type Surroundings } from "./connect.ts";
import { addDemo } from "./demo/demo.ts";
import { bugExitCode, interruptedBy } from "./exitCodes.ts";
import { badOption } from "./options.ts";
import { runCommand } from "./program.ts";
import { screenOf } from "./render/processScreen.ts";
import { addUi } from "./ui/ui.ts";
import { addUp } from "./up/up.ts";

/** Commands that serve or run programs on this machine. */
const local: readonly AddCommand[] = [addTry, addUi, addLead, addUp, addShow, addDown, addWork, addDemo];

/** The entry that `bin/leasefold.js` calls in the bundle `dist/cli.cjs`. Returns the exit code. */
export const main = (argv: readonly string[]): Promise<number> => runCommand(argv, processCli(), local);

function processCli(): Cli {
  const { env } = process;
  printUncaught();
  const at = { env, folder: process.cwd() };
  const signal = interruptSignal();
  const code = loadedCode(at, signal);
  const asks = process.stdin.isTTY === true && process.stderr.isTTY === true;
  return {
    ...at,
    clock: systemClock,
    signal,
    calculations: code.calculations,
    out: screenOf(process.stdout, env),
    err: screenOf(process.stderr, env),
    ...(asks ? { confirm: confirmWith(process.stdin, process.stderr, signal) } : {}),
    instanceStates: (options) => findInstances(options, at),
    connect: (options, own = env) => connectClient(options, { ...at, env: own }, code.own),
    instances: (options) => findInstanceApi(options, at),
    openFile,
    passOn: (names) => passOn(names, env),
    startThread: (access, file) => startThread(at, access, code.files(file)),
  };
}

/** Names variables in the setting that says which of them user code finds. */
function passOn(names: readonly string[], env: NodeJS.ProcessEnv): void {
  for (const name of names) {
    if (!mayBeNamed.test(name)) throw badOption("env", `${name}: ${mayBeNamedRule}`);
    if (env[name] === undefined) throw badOption("env", `${name}: there is no such variable here`);
  }
  if (names.length > 0) env["LEASEFOLD_ENV"] = [...listed(env["LEASEFOLD_ENV"] ?? ""), ...names].join(",");
}

/** Node prints warnings and errors that nothing catches past its own streams, and so past their guard. */
function printUncaught(): void {
  printWarnings();
  process.on("uncaughtException", (error) => {
    // `try` takes those of user code.
    if (process.listenerCount("uncaughtException") > 1) return;
    process.stderr.write(`${inspect(error)}\n`, () => process.exit(bugExitCode));
  });
}

/** Under npm one Ctrl-C arrives twice: from the terminal, and forwarded by npm. */
const samePressMs = 500;

/** The first Ctrl-C requests a stop, the second one exits. */
function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  let firstMs = 0;
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      if (!controller.signal.aborted) firstMs = systemClock.monotonicMs();
      else if (systemClock.monotonicMs() - firstMs > samePressMs)
        process.exit(interruptedBy(controller.signal));
      controller.abort(new DOMException(name, "AbortError"));
    });
  }
  return controller.signal;
}

/**
 * Asks a question; any answer but yes is no, the end of the input included. `terminal: false`, as readline would otherwise
 * keep Ctrl-C from the process.
 */
export const confirmWith =
  (input: NodeJS.ReadableStream, output: NodeJS.WritableStream, signal: AbortSignal) =>
  async (question: string): Promise<boolean> => {
    const lines = createInterface({ input, output, terminal: false });
    const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
    try {
      const answer = await Promise.race([lines.question(`${question} [y/N] `, { signal }), ended]);
      return /^y(es)?$/i.test(answer.trim());
    } finally {
      lines.close();
    }
  };

/** One worker thread with the calculations of these files. Code that never ends blocks only that thread, not Ctrl-C. */
export async function startThread(
  at: Surroundings,
  access: FileAccess,
  files: readonly string[],
): Promise<UserCode> {
  const memoryMb = readSettings(at.env).LEASEFOLD_THREAD_MEMORY_MB;
  // A lazy import, so that other commands do not start later.
  const { threadPool } = await import("../../src/app/threadPool.ts");
  return threadPool(
    { threads: 1, memoryMb, files, access, onIdleCrash: () => {}, printToError: true },
    threadEntry,
  );
}

/** The program of each system that opens a file as a double click does; of all others `xdg-open`. */
const programs: Partial<Record<NodeJS.Platform, string>> = { darwin: "open", win32: "explorer.exe" };

/** Opens a file of the user's own with the program that the system has for it. Rejects where none starts. */
async function openFile(path: string): Promise<void> {
  const program = programs[process.platform] ?? "xdg-open";
  const child = spawn(program, [path], { detached: true, stdio: "ignore", windowsHide: true });
  await once(child, "spawn");
  child.unref();
}
