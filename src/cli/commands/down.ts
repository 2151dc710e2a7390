import { rm } from "node:fs/promises";
import type { Command } from "commander";
import { findLocalFile, type LocalFile } from "../../local/localFile.ts";
import { isAlive } from "../../local/supervisor.ts";
import { LeasefoldError } from "../../model/errors.ts";
import type { Cli, Session } from "../cli.ts";

/** Instances drain within some seconds; what is not gone after this is killed. */
const goneMs = 15_000;
/** After the process that runs them was killed, instances and storage end by themselves. */
const orphansMs = 5_000;
const lookMs = 50;

/** `leasefold down`: stops the instances that run in this folder, and waits until they are gone. */
export function addDown(program: Command, session: Session): void {
  program
    .command("down")
    .description('stop what "leasefold up" started in this folder, and wait until it is gone')
    .action(async () => {
      const found = await findLocalFile(session.cli.env, session.cli.folder);
      if (found.kind === "found") {
        await end(session.cli, found.local);
        const count = found.local.instances.length;
        if (session.json()) return await session.printJson({ stopped: count });
        return await session.print(`stopped ${count} ${count === 1 ? "instance" : "instances"}`);
      }
      // A crash left it behind; the process id in it may be anybody's by now.
      if (found.kind !== "missing") await rm(found.path, { force: true });
      if (session.json()) return await session.printJson({ stopped: 0 });
      await session.print("nothing runs here");
    });
}

async function end(cli: Cli, local: LocalFile): Promise<void> {
  const { supervisorPid } = local;
  const processes = [supervisorPid, local.azuritePid, ...local.instances.map(({ pid }) => pid)].filter(
    (pid) => pid !== undefined,
  );
  signal(supervisorPid, "SIGTERM");
  if (await gone(cli, processes, goneMs)) return;
  signal(supervisorPid, "SIGKILL");
  if (await gone(cli, processes, orphansMs)) return;
  const left = processes.filter(isAlive).join(", ");
  throw new LeasefoldError("not-down", `these processes did not end: ${left}`);
}

async function gone(cli: Cli, processes: readonly number[], withinMs: number): Promise<boolean> {
  const untilMs = cli.clock.monotonicMs() + withinMs;
  while (processes.some(isAlive)) {
    if (cli.signal.aborted || cli.clock.monotonicMs() >= untilMs) return false;
    await cli.clock.sleep(lookMs, cli.signal);
  }
  return true;
}

function signal(pid: number, name: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, name);
  } catch {
    // It ended in this moment.
  }
}
