import { resolve } from "node:path";
import { namedFiles, withPackaged } from "../calculations/ownFiles.ts";
import type { Calculations } from "../calculations/registry.ts";
import {
  type DescribedCalculation,
  describeCalculation,
  describeCalculations,
} from "../client/describeCalculations.ts";
import type { RunRequest } from "../client/runRequest.ts";
import { type Submitted, submit } from "../client/submit.ts";
import { InputError, messageOf } from "../model/errors.ts";
import { shownIdentity } from "../model/identity.ts";
import type { Cli, Session } from "./cli.ts";
import type { Surroundings } from "./connect.ts";
import { loadFiles } from "./loadFiles.ts";

/** Read once, so that concurrent loads restore the same function. */
const writeOutput = process.stdout.write;

/** The built-in calculations and the user's: that of `file`, or else the packaged ones and those of LEASEFOLD_CALCULATIONS. */
export async function knownCalculations(
  at: Surroundings,
  file?: string,
  signal = new AbortController().signal,
): Promise<Calculations> {
  // What a file prints while it loads must not mix with the answer.
  process.stdout.write = process.stderr.write.bind(process.stderr);
  try {
    return await loadFiles(calculationFiles(at, file), { signal });
  } finally {
    process.stdout.write = writeOutput;
  }
}

/** The user's files among them, absolute. */
export function calculationFiles({ env, folder }: Surroundings, file?: string): readonly string[] {
  if (file !== undefined) return [resolve(folder, file)];
  return withPackaged(namedFiles(env["LEASEFOLD_CALCULATIONS"], folder));
}

/** The absolute file, if the command line names a file and not a calculation. */
export const fileAsked = (folder: string, asked: string): string | undefined =>
  /[\\/]|\.[cm]?[jt]s$/.test(asked) ? resolve(folder, asked) : undefined;

/** A registry with the calculation that the command line gives by name or by file, and its name. */
export async function registryFor(
  cli: Pick<Cli, "folder" | "calculations">,
  asked: string,
): Promise<{ readonly calculations: Calculations; readonly name: string; readonly file?: string }> {
  const file = fileAsked(cli.folder, asked);
  const calculations = await cli.calculations(file);
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
  submit(request: Omit<RunRequest, "calculation">): Promise<Submitted>;
}

/** Found by a file, by a name known here, or by a name that the local instances know. Throws `InputError`. */
export async function askedCalculation(session: Session, asked: string): Promise<AskedCalculation> {
  const { calculations, name } = await registryFor(session.cli, asked);
  if (!calculations.list().some((one) => one.name === name)) {
    const found = await ofInstances(session, name);
    if (found !== undefined) return found;
  }
  const calculation = calculations.get(name);
  const described = describeCalculation(calculations, calculation);
  return {
    ...described,
    check: (params) => void calculations.parseParams(calculation, params),
    async submit(request) {
      await checkInstances(session, name, described.code);
      return submit({ ...(await session.client()), calculations }, { ...request, calculation: name });
    },
  };
}

/** Throws `InputError` if local instances have other code, as they would never compute the run. */
async function checkInstances(session: Session, name: string, code: string): Promise<void> {
  const instances = await session.instances();
  const there = await instances?.calculations().catch(() => undefined);
  if (there === undefined) return;
  const theirs = there.find((one) => one.name === name);
  if (theirs === undefined) {
    const known = there.map((one) => one.name).join(", ");
    throw otherCode(`the instances do not have the calculation: ${name}: they have ${known}. ${fix}`);
  }
  if (theirs.code !== code) {
    const both = `${shownIdentity(theirs.code)} there, ${shownIdentity(code)} here`;
    const cure = theirs.changed === true && instances?.watch === true ? loading : fix;
    throw otherCode(`the instances run another version: ${both}. ${cure}`);
  }
}

const loading =
  'They watch their files and load a changed one within seconds: submit again. The output of "leasefold up" says if it does not load';

const fix = `Start them with this file: "leasefold down", then "leasefold up --calculation <file>"`;

const otherCode = (message: string): InputError =>
  new InputError("conflict", "other-code", message, { field: "calculation" });

async function ofInstances(session: Session, name: string): Promise<AskedCalculation | undefined> {
  const instances = await session.instances();
  const found = (await instances?.calculations())?.find((one) => one.name === name);
  if (instances === undefined || found === undefined) return undefined;
  const { changed, ...described } = found;
  return {
    ...described,
    // Only the instances have its code; their `submit` checks.
    check: () => undefined,
    async submit(request) {
      if (changed !== true) return instances.submit({ ...request, calculation: name });
      const restart =
        'Restart them ("leasefold down", then "leasefold up"), or start them with --watch, which loads a changed file';
      throw otherCode(
        `the file is newer than what the instances run, which is ${shownIdentity(found.code)}. ` +
          (instances.watch === true ? loading : restart),
      );
    },
  };
}
