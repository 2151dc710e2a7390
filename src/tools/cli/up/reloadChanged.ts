import { execFile } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { filesBehind, hashNow } from "../../../engine/calculation/moduleGraph.ts";
import { messageOf } from "../../../engine/model/errors.ts";
import { findAppDir } from "../../local/embedded.ts";
import type { Instances } from "../../local/instances.ts";
import type { Cli } from "../cli.ts";

/** A file that is equal in two polls is saved completely; an editor may save in several steps. */
const pollMs = 300;

/**
 * Restarts the instances one after the other whenever one of the user's files, or a file that it imports, has changed.
 * If a changed file does not load, the instances keep the old one. Ends with the signal.
 *
 * Not promised: that a file is watched which was first imported after the start.
 */
export async function reloadChanged(
  cli: Pick<Cli, "clock" | "env" | "folder" | "signal">,
  files: readonly string[],
  { instances }: Instances,
  tell: (line: string) => void,
): Promise<void> {
  const { clock, signal } = cli;
  const urls = files.map((file) => pathToFileURL(file).href);
  const hashes = (): string => urls.map(hashNow).join();
  let loaded = hashes();
  let before = loaded;
  while (!signal.aborted) {
    await clock.sleep(pollMs, signal);
    const now = hashes();
    const isWhole = now === before;
    before = now;
    if (signal.aborted || !isWhole || now === loaded) continue;
    loaded = now;
    const error = await loadError(cli, files);
    if (error !== undefined) {
      tell(`a calculation has changed and does not load; the instances keep what they have: ${error}`);
      continue;
    }
    tell(`a calculation has changed: the instances load ${urls.flatMap(filesBehind).length} files anew`);
    for (const one of instances) {
      if (signal.aborted) return;
      await one.restart().catch((error) => tell(`${one.name} did not start again: ${messageOf(error)}`));
    }
  }
}

/** Loads the files in another process, as this one has them loaded already. */
async function loadError({ env, folder }: Pick<Cli, "env" | "folder">, files: readonly string[]) {
  const bin = join(findAppDir(), "bin", "leasefold.js");
  for (const file of files) {
    const failed = await new Promise<string | undefined>((resolve) => {
      execFile(process.execPath, [bin, "calculations", file], { cwd: folder, env }, (error, _out, err) =>
        resolve(error === null ? undefined : err.trim().replace(/^leasefold: /, "")),
      );
    });
    if (failed !== undefined) return failed;
  }
  return undefined;
}
