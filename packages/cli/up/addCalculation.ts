import { rm } from "node:fs/promises";
import { resolve } from "node:path";
import * as z from "zod";
import type { AnyCalculation } from "../../../src/engine/calculation/contract.ts";
import {
  type DescribedCalculation,
  describeCalculation,
} from "../../../src/engine/client/describeCalculations.ts";
import type { ListedRun } from "../../../src/engine/client/runs.ts";
import { ConfigError, InputError } from "../../../src/engine/model/errors.ts";
import type { Session } from "../cli.ts";
import { type ConnectOptions, namesStorage } from "../connect.ts";
import { loadFiles } from "../loadFiles.ts";
import { findLocalFile } from "../local/localFile.ts";
import { readPrivate, writePrivate } from "../local/privateFile.ts";
import { badOption } from "../options.ts";
import type { OwnCalculation } from "../render/instances.ts";

/**
 * How one more calculation joins running instances: `up --add FILE` puts the file's path beside the state file, in the user's
 * private folder, and the running `up` takes it, restarts its instances and answers. Code never comes over HTTP.
 *
 * Not promised: that two at the same moment both get an answer.
 */
const asked = (stateFile: string): string => stateFile.replace(/json$/, "add");
const answered = (stateFile: string): string => stateFile.replace(/json$/, "added");

const answerSchema = z.object({ file: z.string(), error: z.string().optional() });

/** Instances restart half at a time, each within the time of a start. */
const answerMs = 120_000;
const pollMs = 100;

/** What a running `up` does with the files that others ask it to load. */
export function addedFiles(stateFile: string) {
  return {
    /** The file of the next request, absolute; undefined without one. */
    async next(): Promise<string | undefined> {
      const text = await readPrivate(asked(stateFile));
      if (text === undefined) return undefined;
      await rm(asked(stateFile), { force: true });
      return text;
    },
    answer: (file: string, error?: string): Promise<void> =>
      writePrivate(answered(stateFile), JSON.stringify({ file, error })),
    /** Removes what an earlier `up` left behind. */
    async clear(): Promise<void> {
      for (const path of [asked(stateFile), answered(stateFile)]) await rm(path, { force: true });
    },
  };
}

/**
 * Loads a user's file into the running instances of this folder. Resolves when all have it. Throws `InputError` where that would
 * take the code of a run that is computed, and `ConfigError` where nothing runs.
 */
export async function addCalculation(
  session: Session,
  given: string,
  options: ConnectOptions = {},
): Promise<OwnCalculation & Pick<DescribedCalculation, "name" | "code"> & { readonly added: boolean }> {
  const { env, folder } = session.cli;
  if (namesStorage(options, env)) throw badOption("add", `${given}: ${deployed}`);
  const found = await findLocalFile(env, folder);
  if (found.kind !== "found") {
    const start = `"leasefold up --calculation ${given}" starts some`;
    throw new ConfigError("no-instances", `no instances run here: ${start}. ${deployed}`);
  }
  const file = resolve(folder, given);
  const loaded = await loadFiles([file], session.cli);
  const own = describeCalculation(loaded, loaded.list().at(-1) as AnyCalculation);
  const codeThere = async () => (await session.instances())?.calculations() ?? [];
  const there = await codeThere();
  const isThere = there.some(({ code }) => code === own.code);
  const going = there.filter(
    ({ name, code, changed }) => code !== own.code && (name === own.name || changed === true),
  );
  await refuseIfComputed(
    session,
    going.map(({ code }) => code),
  );
  await ask(session, found.path, file);
  const now = (await codeThere()).find(({ name }) => name === own.name)?.code;
  if (now === own.code) return { ...own, file, added: !isThere };
  throw new ConfigError(
    "not-added",
    `${given}: the instances have other code of ${own.name}: it has changed meanwhile`,
  );
}

const deployed =
  'On Azure a calculation is deployed with the app: docs/OPERATIONS.md, "Your own calculation"';

/** A restart loads every file anew. Runs of the code that goes would then wait, and fail (rule *identity*). */
async function refuseIfComputed(session: Session, going: readonly string[]): Promise<void> {
  if (going.length === 0) return;
  const { runs } = await session.api();
  const computed = (one: ListedRun) => "code" in one && one.code !== undefined && going.includes(one.code);
  let page = await runs({ phase: "active" });
  while (!page.runs.some(computed) && page.cursor !== undefined)
    page = await runs({ phase: "active", cursor: page.cursor });
  const run = page.runs.find(computed)?.run;
  if (run === undefined) return;
  const message =
    `${run} is being computed by code that its file no longer has, and a restart would load the new one: ` +
    `wait for its end, or "leasefold cancel ${run}"`;
  throw new InputError("conflict", "code-in-use", message);
}

async function ask(session: Session, stateFile: string, file: string): Promise<void> {
  const { clock, signal } = session.cli;
  await rm(answered(stateFile), { force: true });
  await writePrivate(asked(stateFile), file);
  const untilMs = clock.monotonicMs() + answerMs;
  while (clock.monotonicMs() < untilMs) {
    signal.throwIfAborted();
    const text = await readPrivate(answered(stateFile));
    const answer = text === undefined ? undefined : answerSchema.parse(JSON.parse(text));
    if (answer?.file === file) {
      if (answer.error === undefined) return;
      throw new ConfigError("not-added", answer.error);
    }
    await clock.sleep(pollMs, signal);
  }
  await rm(asked(stateFile), { force: true });
  throw new ConfigError(
    "not-added",
    `"leasefold up" has not answered within ${answerMs / 1_000} s; its output says why`,
  );
}

/** Asks a person whether the instances shall load a file that they lack. False without a terminal. */
export async function offerToAdd(session: Session, file: string, why: string): Promise<boolean> {
  if ((await session.cli.confirm?.(`${why}. Load ${file} into them now?`)) !== true) return false;
  await addCalculation(session, file);
  return true;
}
