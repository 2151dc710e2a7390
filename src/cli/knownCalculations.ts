import { resolve } from "node:path";
import { type Calculations, loadCalculations } from "../calculations/registry.ts";

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
