import { existsSync, readdirSync } from "node:fs";
import { join, parse, resolve } from "node:path";

/** Where the build puts the calculations of `calculations/`: beside the bundle. */
const packagedFolder = join(import.meta.dirname, "calculations");

/** The files that `LEASEFOLD_CALCULATIONS` names, separated by commas, as absolute paths. */
export function namedFiles(setting: string | undefined, folder: string): string[] {
  const named = (setting ?? "").split(",").map((one) => one.trim());
  return [...new Set(named.filter((one) => one !== "").map((one) => resolve(folder, one)))];
}

/** The packaged calculations, then those files. A file replaces the packaged one of the same name, which was made of it. */
export function withPackaged(files: readonly string[], folder = packagedFolder): string[] {
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".mjs")) : [];
  const replaced = new Set(files.map((file) => parse(file).name));
  const packaged = names.sort().map((name) => join(folder, name));
  return [...packaged.filter((file) => !files.includes(file) && !replaced.has(parse(file).name)), ...files];
}
