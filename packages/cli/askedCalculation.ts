import { resolve } from "node:path";
import type { Calculations } from "../../src/engine/calculation/contract.ts";
import { namedFiles, packagedFolder, withPackaged } from "../../src/engine/calculation/ownFiles.ts";
import {
  type DescribedCalculation,
  describeCalculation,
  describeCalculations,
} from "../../src/engine/client/describeCalculations.ts";
import type { RunEstimate } from "../../src/engine/client/estimate/estimateRun.ts";
import { type PlanRequest, planInThread } from "../../src/engine/client/estimate/planInThread.ts";
import { InputError, messageOf, StorageError } from "../../src/engine/model/errors.ts";
import { namePattern, shownIdentity } from "../../src/engine/model/identity.ts";
import { didYouMean } from "../../src/engine/model/nearNames.ts";
import { readSettings } from "../../src/engine/model/settings.ts";
import type { Leasefold } from "../client/leasefoldClient.ts";
import { type InstanceApi, workersHere } from "./api.ts";
import type { Cli, Session } from "./cli.ts";
import { clientFiles, type Surroundings } from "./connect.ts";
import { loadFiles } from "./loadFiles.ts";
import { findUserApp } from "./local/userApp.ts";
import { offerToAdd } from "./up/addCalculation.ts";

/** Read once, so that concurrent loads restore the same function. */
const writeOutput = process.stdout.write;

/** The built-in calculations and the user's: that of `file`, or else those of `calculationFiles`. */
export async function knownCalculations(
  at: Surroundings,
  file?: string,
  signal = new AbortController().signal,
  ofApp = true,
): Promise<Calculations> {
  // What a file prints while it loads must not mix with the answer.
  process.stdout.write = process.stderr.write.bind(process.stderr);
  try {
    return await loadFiles(calculationFiles(at, file, ofApp), { signal });
  } finally {
    process.stdout.write = writeOutput;
  }
}

/** That file, or else those of LEASEFOLD_CALCULATIONS and of the app here or the clone; absolute. `ofApp`: also those of the app here. */
export function calculationFiles(
  { env, folder }: Surroundings,
  file?: string,
  ofApp = true,
): readonly string[] {
  if (file !== undefined) return [resolve(folder, file)];
  const here = ofApp ? calculationsHere(folder) : packagedFolder();
  return withPackaged(namedFiles(env["LEASEFOLD_CALCULATIONS"], folder), here);
}

/**
 * The code that one command loads. The folder that it runs in may have been cloned, so the app there is loaded only for a command
 * that lists calculations or asks for one that is not known without it.
 */
export function loadedCode(at: Surroundings, signal?: AbortSignal) {
  let ofApp = false;
  const own = () => knownCalculations(at, undefined, signal, false);
  return {
    own,
    async calculations(file?: string, name?: string): Promise<Calculations> {
      if (file !== undefined) return await knownCalculations(at, file, signal);
      const known = name === undefined || ofApp ? undefined : await own();
      if (known?.list().some((one) => one.name === name) === true) return known;
      ofApp = true;
      return await knownCalculations(at, undefined, signal);
    },
    files: (file?: string) => calculationFiles(at, file, ofApp),
  };
}

/** The folder of the calculations of the user's app that this folder is in, or else of those that a clone was built with. */
export const calculationsHere = (folder: string): string | undefined =>
  findUserApp(folder)?.calculations ?? packagedFolder();

/** The absolute file, if the command line names a file and not a calculation. */
export const fileAsked = (folder: string, asked: string): string | undefined =>
  /[\\/]|\.[cm]?[jt]s$/.test(asked) ? resolve(folder, asked) : undefined;

/** A registry with the calculation that the command line gives by name or by file, and its name. */
export async function registryFor(cli: Pick<Cli, "folder" | "calculations">, asked: string) {
  const file = fileAsked(cli.folder, asked);
  const calculations = await cli.calculations(file, asked);
  if (file === undefined) return { calculations, name: asked };
  return { calculations, file, name: calculations.list().at(-1)?.name ?? asked };
}

/** The calculations known here, then those that only the local instances know. */
export async function knownAndRunning(session: Session): Promise<readonly DescribedCalculation[]> {
  const known = describeCalculations(await session.cli.calculations());
  const names = new Set(known.map(({ name }) => name));
  const instances = await session.instances();
  const running = await instances?.calculations().catch(async (error: unknown) => {
    await session.note(`those of the running instances are not listed: ${messageOf(error)}`);
    return [];
  });
  return [...known, ...(running ?? []).filter(({ name }) => !names.has(name))];
}

/** A calculation that the command line names, in this process or in the local instances. */
export interface AskedCalculation extends DescribedCalculation {
  /** Throws `InputError` for wrong parameters, if they can be checked here. */
  check(params: Readonly<Record<string, unknown>>): void;
  /** Where its runs are submitted: this process, or the instances. Throws `InputError` if those have other code. */
  api(): Promise<Pick<Leasefold, "submit" | "schedules">>;
  /** Plans in a thread of this process, which Ctrl-C always ends, or in an instance. */
  plan(request: Omit<PlanRequest, "calculation">): Promise<RunEstimate>;
}

/** Found by a file, by a name known here, or by a name that the local instances know. Throws `InputError`. */
export async function askedCalculation(session: Session, asked: string): Promise<AskedCalculation> {
  const { cli } = session;
  const { calculations, name, file } = await registryFor(cli, asked);
  const known = calculations.list().map((one) => one.name);
  if (!known.includes(name)) return await ofInstances(session, name, known);
  const calculation = calculations.get(name);
  const described = describeCalculation(calculations, calculation);
  return {
    ...described,
    check: (params) => void calculations.parseParams(calculation, params),
    async api() {
      await checkInstances(session, { ...described, file: file === undefined ? undefined : asked });
      return await session.api(calculations);
    },
    plan: async (request) =>
      planInThread(
        { ...request, calculation: name },
        {
          calculations,
          clock: cli.clock,
          settings: readSettings(cli.env),
          planWorkers: () => workersHere(session),
          access: clientFiles(() => session.storage(), cli.env),
          startThread: (access) => cli.startThread(access, file),
        },
        cli.signal,
      ),
  };
}

/** Throws `InputError` if local instances have other code, as they would never compute the run. */
async function checkInstances(
  session: Session,
  { name, code, file }: Pick<DescribedCalculation, "name" | "code"> & { readonly file: string | undefined },
): Promise<void> {
  const instances = await session.instances();
  const there = await instances?.calculations().catch(() => undefined);
  if (there === undefined) return;
  const theirs = there.find((one) => one.name === name);
  if (theirs === undefined) {
    const known = there.map((one) => one.name).join(", ") || "no other";
    const why = `the instances do not have the calculation: ${name}: they have ${known}`;
    if (file !== undefined && (await offerToAdd(session, file, why))) return;
    throw otherCode(`${why}. ${fixWith(file)}`);
  }
  if (theirs.code !== code) {
    const both = `${shownIdentity(theirs.code)} there, ${shownIdentity(code)} here`;
    const why = `the instances run another version: ${both}`;
    if (theirs.changed === true && instances?.watch === true) throw otherCode(`${why}. ${loading}`);
    if (file !== undefined && (await offerToAdd(session, file, why))) return;
    throw otherCode(`${why}. ${fixWith(file)}`);
  }
}

const loading =
  'They watch their files and load a changed one within seconds: try again. The output of "leasefold up" says if it does not load';

const fixWith = (file = "<file>"): string => `"leasefold up --add ${file}" loads it into them`;

const otherCode = (message: string): InputError =>
  new InputError("conflict", "other-code", message, { field: "calculation" });

/** Throws `InputError` if the file has changed since the instances loaded it: their new threads load what it is now. */
export function refuseChanged(
  { code, changed }: Pick<DescribedCalculation, "code" | "changed">,
  { watch }: Pick<InstanceApi, "watch">,
): void {
  if (changed !== true) return;
  const load = `${fixWith()}; "leasefold up --watch" loads a changed file by itself`;
  throw otherCode(
    `the file is newer than what the instances run, which is ${shownIdentity(code)}. ${watch === true ? loading : load}`,
  );
}

/** A calculation whose code only the local instances have; they check its parameters and plan it. */
async function ofInstances(
  session: Session,
  name: string,
  known: readonly string[],
): Promise<AskedCalculation> {
  const instances = await session.instances();
  if (instances === undefined)
    throw unknown(name, known, [], "no instances run here that it could ask", false);
  const there = await instances.calculations().catch((error: unknown) => {
    const { message } = unknown(name, known, [], `the instances do not answer: ${messageOf(error)}`);
    throw new StorageError("busy", "", undefined, message, error);
  });
  const found = there.find((one) => one.name === name);
  if (found === undefined) {
    const more = there.map((one) => one.name).filter((one) => !known.includes(one));
    throw unknown(
      name,
      known,
      more,
      `the instances know ${more.length === 0 ? "no other" : more.join(", ")}`,
    );
  }
  const { changed: _changed, ...described } = found;
  return {
    ...described,
    check: () => undefined,
    async api() {
      refuseChanged(found, instances);
      return instances;
    },
    async plan(request) {
      refuseChanged(found, instances);
      return await instances.plan({ ...request, calculation: name });
    },
  };
}

function unknown(
  name: string,
  known: readonly string[],
  more: readonly string[],
  instances: string,
  running = true,
): InputError {
  const file = `./${namePattern.test(name) ? name : "mine"}.ts`;
  const option = running ? "--add" : "--calculation";
  const cure = `For one of your own, give its file, such as ${file}, or "leasefold up ${option} ${file}"`;
  const here = `there is no calculation ${JSON.stringify(name)}${didYouMean(name, [...known, ...more])}: this command knows ${known.join(", ")}`;
  return new InputError("unknown", "unknown-calculation", `${here}; ${instances}. ${cure}`);
}
