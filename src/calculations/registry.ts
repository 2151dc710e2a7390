import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { ConfigError, InputError, messageOf } from "../model/errors.ts";
import { version } from "../model/version.ts";
import { aggregate } from "./aggregate.ts";
import type { AnyCalculation } from "./contract.ts";
import { inventory } from "./inventory.ts";
import { mandelbrot } from "./mandelbrot.ts";
import { options } from "./options.ts";
import { describeParams, type ParamRow, parseParams } from "./params.ts";
import { placeOf } from "./placeOf.ts";
import { primes } from "./primes.ts";
import { queens } from "./queens.ts";
import { resolveLeasefold } from "./resolveLeasefold.ts";

/** One line for each built-in calculation. */
const builtIn: readonly AnyCalculation[] = [primes, queens, options, aggregate, inventory, mandelbrot];

/** The calculations that a process knows. */
export interface Calculations {
  list(): readonly AnyCalculation[];
  /** Throws `InputError` naming the known ones. */
  get(name: string): AnyCalculation;
  /** `leasefold 1.2.3` of a built-in calculation, `sha256:` and 12 hex digits of a user's file. Throws as `get`. */
  versionOf(name: string): string;
  parseParams(calculation: AnyCalculation, raw: unknown): unknown;
  describeParams(calculation: AnyCalculation): readonly ParamRow[];
}

/** The built-in calculations and those of the user's files, given as absolute paths. Throws `ConfigError`. */
export async function loadCalculations(files: readonly string[]): Promise<Calculations> {
  const byName = new Map(
    builtIn.map((one) => [one.name, { calculation: one, version: `leasefold ${version}` }]),
  );
  for (const file of files) {
    const loaded = await loadFile(file);
    if (byName.has(loaded.name)) {
      throw new ConfigError(
        "calculation-name",
        `${file}: there is a calculation named ${loaded.name} already`,
      );
    }
    byName.set(loaded.name, { calculation: loaded, version: hashOf(file) });
  }
  const find = (name: string) => {
    const found = byName.get(name);
    if (found !== undefined) return found;
    const known = [...byName.keys()].join(", ");
    throw new InputError(
      "unknown",
      "unknown-calculation",
      `there is no calculation ${JSON.stringify(name)}; there are ${known}`,
    );
  };
  return {
    list: () => [...byName.values()].map(({ calculation }) => calculation),
    get: (name) => find(name).calculation,
    versionOf: (name) => find(name).version,
    parseParams,
    describeParams,
  };
}

const hashOf = (file: string): string =>
  `sha256:${createHash("sha256").update(readFileSync(file)).digest("hex").slice(0, 12)}`;

/** What a calculation may be called. */
export const namePattern = /^[a-z][a-z0-9-]{0,39}$/;

async function loadFile(file: string): Promise<AnyCalculation> {
  if (!existsSync(file)) throw new ConfigError("no-calculation-file", `there is no calculation file ${file}`);
  resolveLeasefold();
  let exported: { default?: unknown; calculation?: unknown };
  try {
    exported = await import(pathToFileURL(file).href);
  } catch (cause) {
    const message = `${file} does not load: ${messageOf(cause)}${placeOf(cause)}`;
    throw new ConfigError("bad-calculation-file", message, { cause });
  }
  const found = (exported.default ?? exported.calculation) as Partial<AnyCalculation> | undefined;
  const missing = ["name", "params", "plan", "compute", "merge", "zero"].filter(
    (part) => !(part in Object(found)),
  );
  if (found === undefined || missing.length > 0) {
    const what = found === undefined ? "a default export" : missing.join(", ");
    throw new ConfigError("bad-calculation-file", `${file} exports no calculation: it lacks ${what}`);
  }
  if (!namePattern.test(String(found.name))) {
    throw new ConfigError(
      "bad-calculation-file",
      `${file}: the name ${JSON.stringify(found.name)} is not 1 to 40 lower-case letters, digits and dashes`,
    );
  }
  return found as AnyCalculation;
}
