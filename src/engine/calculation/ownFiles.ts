import { existsSync, readdirSync } from "node:fs";
import { join, parse, resolve } from "node:path";

/** Where the build puts the calculations of `calculations/`: beside the bundle. */
const builtFolder = join(import.meta.dirname, "calculations");

/** The folder of the calculations that a clone was built with; undefined where there are none. */
export const packagedFolder = (): string | undefined => (existsSync(builtFolder) ? builtFolder : undefined);

/** A file that exports a calculation. Two dots, as in `mine.test.ts`, are none; so is a folder, for helpers. */
const calculationFile = /^[^.]+\.[cm]?[jt]s$/;

/** The files that `LEASEFOLD_CALCULATIONS` names, separated by commas, as absolute paths. */
export function namedFiles(setting: string | undefined, folder: string): string[] {
  const named = (setting ?? "").split(",").map((one) => one.trim());
  return [...new Set(named.filter((one) => one !== "").map((one) => resolve(folder, one)))];
}

/**
 * The calculations directly in the app's folder for them, then those files. A file replaces the one of the same name in that
 * folder, which was made of it. Throws the system's error for a folder that cannot be listed.
 */
export function withPackaged(files: readonly string[], folder: string | undefined): string[] {
  const entries = folder === undefined ? [] : readdirSync(folder, { withFileTypes: true });
  const names = entries
    .filter((one) => one.isFile() && calculationFile.test(one.name))
    .map(({ name }) => name);
  const replaced = new Set(files.map((file) => parse(file).name));
  const packaged = names.sort().map((name) => join(folder ?? "", name));
  return [...packaged.filter((file) => !files.includes(file) && !replaced.has(parse(file).name)), ...files];
}
