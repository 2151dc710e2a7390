import { spawn } from "node:child_process";
import { constants } from "node:os";

/** Another program, run in the foreground of this one. */
export interface Child {
  /** Resolves when it is gone, with its exit code as a shell would give it. Never rejects. */
  readonly ended: Promise<number>;
  kill(signal: NodeJS.Signals): void;
}

export type StartChild = (command: readonly string[], env: Readonly<Record<string, string>>) => Child;

/** As shells tell a command that is not there, and one that cannot be run. */
const notFound = 127;
const notRunnable = 126;

/**
 * Starts it with this process's own input and output. It does not outlive an exit of this process that this process
 * knows of; a SIGKILL of this process leaves it running.
 */
export const startChild: StartChild = ([file = "", ...args], env) => {
  const child = spawn(file, args, { stdio: "inherit", env: { ...process.env, ...env } });
  const last = () => void child.kill("SIGKILL");
  process.once("exit", last);
  const ended = new Promise<number>((resolve) => {
    child.once("error", ({ code }: NodeJS.ErrnoException) =>
      resolve(code === "ENOENT" ? notFound : notRunnable),
    );
    child.once("exit", (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    );
  });
  return {
    ended: ended.finally(() => process.removeListener("exit", last)),
    kill: (signal) => void child.kill(signal),
  };
};
