import { spawn } from "node:child_process";
import { constants } from "node:os";

/** A host that stops lets invocations end: up to 15 s. */
const graceMs = 20_000;
const parentEveryMs = 1_000;

/**
 * Runs a program in a process group of its own and ends all of it when this process gets a signal or loses its parent: what the program
 * started would otherwise stay, with its ports. Windows has no groups; there the program itself is ended.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {import("node:child_process").SpawnOptions} options
 * @returns {Promise<number>} the exit code, or 128 and the number of the signal
 */
export function runGroup(command, args, options) {
  const hasGroups = process.platform !== "win32";
  const child = spawn(command, args, { ...options, stdio: "inherit", detached: hasGroups });
  const send = (signal) => {
    try {
      if (hasGroups) process.kill(-child.pid, signal);
      else child.kill(signal);
    } catch {
      // It has ended.
    }
  };
  const end = (signal) => {
    send(signal);
    setTimeout(() => send("SIGKILL"), graceMs).unref();
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => end(signal));
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    end("SIGTERM");
  }, parentEveryMs);
  return new Promise((resolve) => {
    child.once("error", (error) => {
      console.error(`cannot run ${command}: ${error.message}`);
      resolve(1);
    });
    child.once("exit", (code, signal) => {
      clearInterval(watch);
      // What the program has left behind.
      send("SIGKILL");
      resolve(code ?? 128 + (constants.signals[signal] ?? 0));
    });
  });
}
