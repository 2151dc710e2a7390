import { createInterface } from "node:readline/promises";
import type { FileAccess } from "../calculations/files.ts";
import { readSettings } from "../model/settings.ts";
import { systemClock } from "../storage/system.ts";
import type { UserCode } from "../worker/threads/userCode.ts";
import { calculationFiles, knownCalculations } from "./askedCalculation.ts";
import type { Cli, Screen } from "./cli.ts";
import { connectClient, findInstances } from "./connect.ts";
import { interrupted } from "./exitCodes.ts";
import { findInstanceApi } from "./instanceApi.ts";

/** A width to fall back on, where the output is no terminal. */
const columnsDefault = 80;

/** The process that this program runs in. */
export function processCli(): Cli {
  const { env } = process;
  const folder = process.cwd();
  const calculations = (file?: string) => knownCalculations(env, folder, file);
  const signal = interruptSignal();
  return {
    env,
    folder,
    out: screenOf(process.stdout, env),
    err: screenOf(process.stderr, env),
    clock: systemClock,
    signal,
    ...(process.stdin.isTTY === true && process.stderr.isTTY === true
      ? { confirm: confirmWith(signal) }
      : {}),
    instanceStates: (options) => findInstances(options, env, folder),
    connect: (options) => connectClient(options, env, folder, calculations),
    calculations,
    instances: (options) => findInstanceApi(options, env, folder),
    startThread: (access, file) => startThread(env, folder, access, file),
  };
}

/** Under npm one Ctrl-C arrives twice: from the terminal, and passed on by npm. */
const samePressMs = 500;

/** The first Ctrl-C asks, the second one does not. */
function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  let firstMs = 0;
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      if (!controller.signal.aborted) firstMs = systemClock.monotonicMs();
      else if (systemClock.monotonicMs() - firstMs > samePressMs) process.exit(interrupted);
      controller.abort(new DOMException(name, "AbortError"));
    });
  }
  return controller.signal;
}

/** Anything but a yes is a no. Not as a terminal, which would keep Ctrl-C from the process. */
const confirmWith = (signal: AbortSignal) => async (question: string) => {
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  try {
    return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `, { signal })).trim());
  } finally {
    lines.close();
  }
};

function screenOf(stream: NodeJS.WriteStream, env: Cli["env"]): Screen {
  // A reader that has seen enough, such as `head`, is no error.
  stream.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
  const isTty = stream.isTTY === true;
  return {
    isTty,
    get columns() {
      return stream.columns ?? columnsDefault;
    },
    colour: isTty && !env["NO_COLOR"] && env["TERM"] !== "dumb",
    write: (text) => new Promise((resolve) => void stream.write(text, () => resolve())),
  };
}

/**
 * One worker thread with the calculations known here. User code that blocks or never ends blocks only that thread,
 * so Ctrl-C still works.
 */
export async function startThread(
  env: Readonly<Record<string, string | undefined>>,
  folder: string,
  access: FileAccess,
  file?: string,
): Promise<UserCode> {
  const memoryMb = readSettings(env).LEASEFOLD_THREAD_MEMORY_MB;
  const files = calculationFiles(env, folder, file);
  // Loaded only here: no other command should start later for it.
  const { threadPool } = await import("../worker/threads/threadPool.ts");
  return threadPool({ threads: 1, memoryMb, files, access, onIdleCrash: () => {}, printToError: true });
}
