import { resolve } from "node:path";
import { type Calculations, loadCalculations } from "../calculations/registry.ts";
import type { DescribedCalculation } from "../client/describeCalculations.ts";
import type { RunRequest } from "../client/runRequest.ts";
import { type Submitted, submit } from "../client/submit.ts";
import { InputError } from "../model/errors.ts";
import { shownIdentity } from "../model/identity.ts";
import type { Session } from "./cli.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Taken once, so that loads beside each other put back the same. */
const toOutput = process.stdout.write;

/**
 * The built-in calculations and the user's: `file`, which the command line names, or else the files that
 * LEASEFOLD_CALCULATIONS names. Nothing else is ever loaded, whatever runs or lies in the folder.
 */
export async function knownCalculations(env: Env, folder: string, file?: string): Promise<Calculations> {
  // What a file prints while it loads is not the answer of a command.
  process.stdout.write = process.stderr.write.bind(process.stderr);
  try {
    return await loadCalculations(calculationFiles(env, folder, file));
  } finally {
    process.stdout.write = toOutput;
  }
}

/** The user's files among them, absolute. */
export function calculationFiles(env: Env, folder: string, file?: string): readonly string[] {
  if (file !== undefined) return [resolve(folder, file)];
  const named = (env["LEASEFOLD_CALCULATIONS"] ?? "").split(",").map((one) => one.trim());
  return [...new Set(named.filter((one) => one !== "").map((one) => resolve(folder, one)))];
}

/** The file that a command line gives where it may also give a name; absolute. */
export const fileAsked = (folder: string, asked: string): string | undefined =>
  /[\\/]|\.[cm]?[jt]s$/.test(asked) ? resolve(folder, asked) : undefined;

/** The name that was asked for, which for a file is that of the calculation in it. */
export const nameAsked = (calculations: Calculations, asked: string, file: string | undefined): string =>
  file === undefined ? asked : (calculations.list().at(-1)?.name ?? asked);

/** The calculation that a command line names, wherever its code is. */
export interface AskedCalculation extends DescribedCalculation {
  /** Throws `InputError` for parameters that are seen to be wrong before anything is sent. */
  check(params: Readonly<Record<string, unknown>>): void;
  submit(request: Omit<RunRequest, "calculation">): Promise<Submitted>;
}

/** By a file, or by a name that is known here, or else to the instances that run here. Throws `InputError`. */
export async function askedCalculation(session: Session, asked: string): Promise<AskedCalculation> {
  const { cli } = session;
  const file = fileAsked(cli.folder, asked);
  const calculations = await cli.calculations(file);
  const name = nameAsked(calculations, asked, file);
  if (!calculations.list().some((one) => one.name === name)) {
    const found = await ofInstances(session, name);
    if (found !== undefined) return found;
  }
  const calculation = calculations.get(name);
  const code = calculations.versionOf(name);
  return {
    ...{ name, summary: calculation.summary, params: calculations.describeParams(calculation), code },
    check: (params) => void calculations.parseParams(calculation, params),
    async submit(request) {
      await checkInstances(session, name, code);
      return submit({ ...(await session.client()), calculations }, { ...request, calculation: name });
    },
  };
}

/**
 * Instances that run here and have other code would enqueue the run's work again and again; that is told before it is
 * submitted. Where none runs here, or none answers, the leader says so in the run's status.
 */
async function checkInstances(session: Session, name: string, code: string): Promise<void> {
  const instances = await session.instances();
  const there = await instances?.calculations().catch(() => undefined);
  if (there === undefined) return;
  const theirs = there.find((one) => one.name === name);
  if (theirs === undefined) {
    const known = there.map((one) => one.name).join(", ");
    throw otherCode(`${name}: the instances do not have it; they have ${known}. ${cure}`);
  }
  if (theirs.code !== code) {
    const both = `${shownIdentity(theirs.code)} there, ${shownIdentity(code)} here`;
    throw otherCode(`the instances run another version: ${both}. ${cure}`);
  }
}

const cure = `Start them with this file: "leasefold down", then "leasefold up --calculation <file>"`;

const fileIsNewer = (code: string): InputError =>
  otherCode(
    `the file is newer than what the instances run, which is ${shownIdentity(code)}. Restart them ("leasefold down", ` +
      `then "leasefold up"), or start them with --watch, which loads a changed file`,
  );

const otherCode = (message: string): InputError =>
  new InputError("conflict", "other-code", message, { field: "calculation" });

async function ofInstances(session: Session, name: string): Promise<AskedCalculation | undefined> {
  const instances = await session.instances();
  const found = (await instances?.calculations())?.find((one) => one.name === name);
  if (instances === undefined || found === undefined) return undefined;
  const { changed, ...described } = found;
  return {
    ...described,
    // Only its own code can tell, and that runs there: `submit` tells.
    check: () => undefined,
    async submit(request) {
      if (changed === true) throw fileIsNewer(found.code);
      return instances.submit({ ...request, calculation: name });
    },
  };
}
