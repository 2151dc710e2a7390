import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { filesBehind, hashNow } from "../../../src/engine/calculation/moduleGraph.ts";
import { messageOf } from "../../../src/engine/model/errors.ts";
import type { Cli } from "../cli.ts";
import { loadFiles, notEndedInTime } from "../loadFiles.ts";
import { findAppDir } from "../local/embedded.ts";
import type { Instances } from "../local/instances.ts";
import type { addedFiles } from "./addCalculation.ts";

/** A file that has not loaded in time may do so when the machine has less to do: so often it is tried. */
const triesMax = 3;

/** A file that is equal in two polls is saved completely; an editor may save in several steps. */
const pollMs = 300;

/**
 * Restarts the instances one after the other with another file that `added` names, and with `watch` whenever one of the user's
 * files, or a file that it imports, has changed, or `here` lists another one. If a file does not load, the instances keep what
 * they have. `files` is what they load at each start. Ends with the signal.
 *
 * Not promised: that a file is watched which was first imported after the start.
 */
export async function followFiles(
  cli: Pick<Cli, "clock" | "env" | "folder" | "signal">,
  {
    files,
    here,
    watch,
    added,
    errorOf = (all) => loadError(cli, all),
  }: {
    readonly files: string[];
    readonly here: () => readonly string[];
    readonly watch: boolean;
    readonly added: Pick<ReturnType<typeof addedFiles>, "next" | "answer">;
    /** Why these files do not load beside each other. */
    readonly errorOf?: (files: readonly string[]) => Promise<string | undefined>;
  },
  { instances }: Pick<Instances, "instances">,
  tell: (line: string) => void,
): Promise<void> {
  const { clock, signal } = cli;
  const all = (): string[] => [...new Set([...files, ...(watch ? here() : [])])];
  const urls = (): readonly string[] => all().map((file) => pathToFileURL(file).href);
  const hashes = (): string => urls().map(hashNow).join();
  const restart = async (): Promise<void> => {
    for (const one of instances) {
      if (signal.aborted) return;
      await one.restart().catch((error) => tell(`${one.name} did not start again: ${messageOf(error)}`));
    }
  };
  let loaded = hashes();
  let before = loaded;
  let tries = 0;
  while (!signal.aborted) {
    await clock.sleep(pollMs, signal);
    if (signal.aborted) return;
    const asked = await added.next();
    if (asked !== undefined) {
      const isLoaded = files.includes(asked) && hashes() === loaded;
      const error = isLoaded ? undefined : await addFile(cli, files, asked, tell);
      if (error === undefined && !isLoaded) {
        tell(`the instances load ${basename(asked)} and restart, one after the other`);
        await restart();
        loaded = before = hashes();
      }
      await added.answer(asked, error);
      continue;
    }
    if (!watch) continue;
    const now = hashes();
    const isWhole = now === before;
    before = now;
    if (!isWhole) tries = 0;
    if (!isWhole || now === loaded) continue;
    const error = await errorOf(all());
    tries += 1;
    if (error !== undefined) {
      const isTriedAgain = error.includes(notEndedInTime) && tries < triesMax;
      if (!isTriedAgain) loaded = now;
      const next = isTriedAgain ? "it is tried again" : "the instances keep what they have";
      tell(`a calculation has changed and does not load; ${next}: ${error}`);
      continue;
    }
    loaded = now;
    tries = 0;
    files.splice(0, files.length, ...all());
    tell(`a calculation has changed: the instances load ${urls().flatMap(filesBehind).length} files anew`);
    await restart();
  }
}

/**
 * Appends the file unless it is there already, in which case it may have changed. Files that are gone, such as one that was
 * renamed, are left out from now on: no instance would start with them. Returns why it does not load beside the others.
 */
async function addFile(
  cli: Pick<Cli, "env" | "folder" | "signal">,
  files: string[],
  file: string,
  tell: (line: string) => void,
): Promise<string | undefined> {
  if (files.includes(file)) return await loadError(cli, [file]);
  if (file.includes(",")) return `${file}: a path must not contain a comma`;
  const gone = files.filter((one) => !existsSync(one));
  const there = [...files.filter((one) => !gone.includes(one)), file];
  try {
    await loadFiles(there, cli);
    files.splice(0, files.length, ...there);
    for (const one of gone) tell(`${one} is gone: the instances no longer load it`);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** Loads the files beside each other in another process, as this one has them loaded already. */
async function loadError({ env, folder }: Pick<Cli, "env" | "folder">, files: readonly string[]) {
  const bin = join(findAppDir(), "bin", "leasefold.js");
  const beside = { ...env, LEASEFOLD_CALCULATIONS: files.join(",") };
  return await new Promise<string | undefined>((resolve) => {
    execFile(process.execPath, [bin, "calculations"], { cwd: folder, env: beside }, (error, _out, err) =>
      resolve(error === null ? undefined : err.trim().replace(/^leasefold: /, "")),
    );
  });
}
