import { existsSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { fileHashNow, loadedFiles } from "../../../src/engine/calculation/moduleGraph.ts";
import { messageOf } from "../../../src/engine/model/errors.ts";
import { countOf } from "../../../src/engine/model/figures.ts";
import type { Cli } from "../cli.ts";
import { notEndedInTime, tryFiles } from "../loadFiles.ts";
import type { Instances } from "../local/instances.ts";
import type { addedFiles } from "./addCalculation.ts";

/** A file that has not loaded in time may do so when the machine has less to do: so often it is tried. */
const triesMax = 3;

/** A file that is equal in two polls is saved completely; an editor may save in several steps. */
const pollMs = 300;

/** By URL of a file. */
type Hashes = ReadonlyMap<string, string>;

/**
 * Restarts the instances with another file that `added` names, and with `watch` whenever a file that they have loaded has changed
 * or `here` lists another one. A restart, because a process keeps what it has imported, and with it the identity of that code. If
 * a file does not load, the instances keep what they have. `files` is what they load at each start. Ends with the signal.
 */
export async function followFiles(
  cli: Pick<Cli, "clock" | "signal">,
  {
    files,
    here,
    watch,
    added,
    tryAll = (all) => tryFiles(all, cli),
  }: {
    readonly files: string[];
    readonly here: () => readonly string[];
    readonly watch: boolean;
    readonly added: Pick<ReturnType<typeof addedFiles>, "next" | "answer">;
    /** Loads these files beside each other, but not in this thread, which keeps what it has imported. */
    readonly tryAll?: (files: readonly string[]) => ReturnType<typeof tryFiles>;
  },
  { instances }: Pick<Instances, "instances">,
  tell: (line: string) => void,
): Promise<void> {
  const { clock, signal } = cli;
  /** Those that are gone may come back, as when another branch is checked out. */
  const named = new Set(files);
  /** Of all files that the last attempt loaded, as it loaded them. */
  let tried: Hashes = new Map(files.map(urlOf).flatMap(loadedFiles));
  let failed = false;

  const all = (more: readonly string[] = []): readonly string[] =>
    [...new Set([...named, ...(watch ? here() : []), ...more])].filter((file) => existsSync(file));
  const hashesNow = (): Hashes =>
    new Map([...tried.keys(), ...all().map(urlOf)].map((url) => [url, fileHashNow(url)]));

  async function load(now: readonly string[], hashes: Hashes, why: string): Promise<void> {
    for (const one of files) if (!now.includes(one)) tell(`${one} is gone: the instances no longer load it`);
    for (const one of now) named.add(one);
    files.splice(0, files.length, ...now);
    [tried, failed] = [hashes, false];
    tell(`${why}: the instances restart and load ${countOf(hashes.size, "file")}, half of them at a time`);
    // The others lead, compute and answer meanwhile.
    for (const half of [1, 0]) {
      if (signal.aborted) return;
      const restarts = instances
        .filter((_, index) => index % 2 === half)
        .map((one) =>
          one.restart().catch((error) => tell(`${one.name} did not start again: ${messageOf(error)}`)),
        );
      await Promise.all(restarts);
    }
  }

  /** Returns why the file does not load beside the others. */
  async function add(file: string): Promise<string | undefined> {
    if (file.includes(",")) return `${file}: a path must not contain a comma`;
    if (files.includes(file) && !failed && changedIn(hashesNow(), tried).length === 0) return undefined;
    const now = all([file]);
    const { error, hashes } = await tryAll(now);
    if (error === undefined) await load(now, hashes, `${basename(file)} is added`);
    return error;
  }

  let before: Hashes = tried;
  let tries = 0;
  while (!signal.aborted) {
    await clock.sleep(pollMs, signal);
    if (signal.aborted) return;
    const asked = await added.next();
    if (asked !== undefined) {
      await added.answer(asked, await add(asked));
      continue;
    }
    if (!watch) continue;
    const current = hashesNow();
    const isWhole = changedIn(current, before).length === 0;
    before = current;
    if (!isWhole) tries = 0;
    const changed = changedIn(current, tried);
    if (!isWhole || changed.length === 0) continue;
    const now = all();
    const { error, hashes } = await tryAll(now);
    tries += 1;
    if (error === undefined) {
      await load(now, hashes, hasChanged(changed));
      continue;
    }
    const isTriedAgain = error.includes(notEndedInTime) && tries < triesMax;
    // What it has imported meanwhile may be what has to be mended.
    if (!isTriedAgain) [tried, failed] = [new Map([...current, ...hashes]), true];
    const next = isTriedAgain ? "it is tried again" : "the instances keep what they have";
    tell(`${hasChanged(changed)}; a calculation does not load, and ${next}: ${error}`);
  }
}

const urlOf = (file: string): string => pathToFileURL(file).href;

const changedIn = (now: Hashes, before: Hashes): readonly string[] =>
  [...now].filter(([url, hash]) => before.get(url) !== hash).map(([url]) => url);

function hasChanged([first = "", ...others]: readonly string[]): string {
  const name = basename(fileURLToPath(first));
  return others.length === 0
    ? `${name} has changed`
    : `${name} and ${countOf(others.length, "other file")} have changed`;
}
