import { rm } from "node:fs/promises";
import { Argument, type Command } from "commander";
import { ConfigError, LeasefoldError } from "../../../src/engine/model/errors.ts";
import { countOf } from "../../../src/engine/model/figures.ts";
import type { Cli, Session } from "../cli.ts";
import { dataFolder } from "../local/dataFolder.ts";
import { findLocalFile, type LocalFile } from "../local/localFile.ts";
import { isAlive } from "../local/supervisor.ts";
import { dashboardAddress } from "../ui/serveUi.ts";

const things = ["connection", "key", "header", "url", "dashboard", "data"] as const;

/** `leasefold show [what]`: how browsers and programs, such as curl, reach local instances. It prints secrets. */
export function addShow(program: Command, session: Session): void {
  program
    .command("show")
    .description(
      "show the connection string (for Storage Explorer), API key, URL and dashboard of local instances, and where the data of each up --data NAME lie",
    )
    .addArgument(new Argument("[what]", "show only this value, for use in other commands").choices(things))
    .action(async (what: (typeof things)[number] | undefined) => {
      const data = await dataFolder(session.cli.env);
      if (what === "data") return await (session.json() ? session.printJson(data) : session.print(data));
      const found = await findLocalFile(session.cli.env, session.cli.folder);
      if (found.kind !== "found") {
        throw new ConfigError("nothing-runs", 'no instance runs here: start instances with "leasefold up"');
      }
      const { connectionString: connection, functionKey: key, instances } = found.local;
      const served = instances.filter(({ httpUrl }) => httpUrl !== undefined);
      const url = (served.find(({ down }) => down === undefined) ?? served[0])?.httpUrl;
      const values = {
        connection,
        key,
        header: `x-functions-key: ${key}`,
        url: `${url}/api`,
        dashboard: dashboardAddress(`${url}`, key),
        data,
      };
      if (session.json()) return await session.printJson(what === undefined ? values : values[what]);
      if (what !== undefined) return await session.print(values[what]);
      for (const [name, value] of Object.entries(values)) await session.print(`${name.padEnd(10)}  ${value}`);
    });
}

/** Instances drain within some seconds; those that still run after this are killed. */
const drainMs = 15_000;
/** Instances and storage end by themselves after their supervisor was killed. */
const orphansMs = 5_000;
const pollMs = 50;

/** `leasefold down`: stops the instances of this folder, and waits until they have ended. */
export function addDown(program: Command, session: Session): void {
  program
    .command("down")
    .description('stop what "leasefold up" started in this folder, and wait until it has ended')
    .action(async () => {
      const found = await findLocalFile(session.cli.env, session.cli.folder);
      const stopped = found.kind === "found" ? found.local.instances.length : 0;
      if (found.kind === "found") await stop(session.cli, found.local);
      // A crash left the file behind; its process id may be another process's by now.
      else if (found.kind !== "missing") await rm(found.path, { force: true });
      if (session.json()) return await session.printJson({ stopped });
      const text = `stopped ${countOf(stopped, "instance")}`;
      await session.print(found.kind === "found" ? text : "nothing runs here");
    });
}

async function stop(cli: Cli, { supervisorPid, azuritePid, instances }: LocalFile): Promise<void> {
  const all = [supervisorPid, azuritePid, ...instances.map(({ pid }) => pid)];
  const pids = all.filter((pid) => pid !== undefined);
  for (const [signal, waitMs] of [
    ["SIGTERM", drainMs],
    ["SIGKILL", orphansMs],
  ] as const) {
    try {
      process.kill(supervisorPid, signal);
    } catch {
      // It has just ended.
    }
    if (await ended(cli, pids, waitMs)) return;
  }
  throw new LeasefoldError("not-down", `some processes did not end: ${pids.filter(isAlive).join(", ")}`);
}

async function ended({ clock, signal }: Cli, pids: readonly number[], waitMs: number): Promise<boolean> {
  const untilMs = clock.monotonicMs() + waitMs;
  while (pids.some(isAlive)) {
    if (signal.aborted || clock.monotonicMs() >= untilMs) return false;
    await clock.sleep(pollMs, signal);
  }
  return true;
}
