import { execFile } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { filesBehind, hashNow } from "../../calculations/moduleGraph.ts";
import { findAppDir } from "../../local/embedded.ts";
import type { Instances } from "../../local/instances.ts";
import { messageOf } from "../../model/errors.ts";
import type { Cli } from "../cli.ts";

/** An editor may save a file in several steps; what is equal in two looks is whole. */
const lookMs = 300;

/**
 * Has the instances load the user's files anew whenever one of them, or a file that it imports, has changed: one instance
 * after the other ends its packs, or hands them over, and starts again. A file that does not load is told, and what runs
 * goes on. Ends with the signal.
 *
 * Not promised: that a file is watched which was first imported after the start.
 */
export async function reloadChanged(
  cli: Pick<Cli, "clock" | "env" | "folder">,
  files: readonly string[],
  instances: Instances,
  signal: AbortSignal,
  tell: (line: string) => void,
): Promise<void> {
  const urls = files.map((file) => pathToFileURL(file).href);
  const look = (): string => urls.map(hashNow).join();
  let loaded = look();
  let before = loaded;
  while (!signal.aborted) {
    await cli.clock.sleep(lookMs, signal);
    const now = look();
    const isWhole = now === before;
    before = now;
    if (signal.aborted || !isWhole || now === loaded) continue;
    loaded = now;
    const broken = await firstBroken(cli, files);
    if (broken !== undefined) {
      tell(`a calculation has changed and does not load; the instances keep what they have: ${broken}`);
      continue;
    }
    tell(`a calculation has changed: the instances load ${urls.flatMap(filesBehind).length} files anew`);
    await restartAll(instances, signal, tell);
  }
}

/** In a process of its own: this one has the file loaded already. */
async function firstBroken(
  { env, folder }: Pick<Cli, "env" | "folder">,
  files: readonly string[],
): Promise<string | undefined> {
  const bin = join(findAppDir(), "bin", "leasefold.js");
  for (const file of files) {
    const said = await new Promise<string | undefined>((resolve) => {
      execFile(process.execPath, [bin, "calculations", file], { cwd: folder, env }, (error, _out, err) =>
        resolve(error === null ? undefined : err.trim().replace(/^leasefold: /, "")),
      );
    });
    if (said !== undefined) return said;
  }
  return undefined;
}

async function restartAll(
  { instances, restart }: Instances,
  signal: AbortSignal,
  tell: (line: string) => void,
): Promise<void> {
  for (const [index, { name }] of instances.entries()) {
    if (signal.aborted) return;
    await restart(index).catch((error: unknown) => tell(`${name} did not start again: ${messageOf(error)}`));
  }
}
