import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { ConfigError, InputError, messageOf } from "../model/errors.ts";
import { declaredVersionPattern, identityOf } from "../model/identity.ts";
import { aggregate } from "./aggregate.ts";
import type { AnyCalculation } from "./contract.ts";
import { inventory } from "./inventory.ts";
import { mandelbrot } from "./mandelbrot.ts";
import { hashNow, loadedHash, resolveLeasefold } from "./moduleGraph.ts";
import { options } from "./options.ts";
import { describeParams, type ParamRow, parseParams } from "./params.ts";
import { placeOf } from "./placeOf.ts";
import { primes } from "./primes.ts";
import { queens } from "./queens.ts";

/** One line for each built-in calculation. */
const builtIn: readonly AnyCalculation[] = [primes, queens, options, aggregate, inventory, mandelbrot];

/** The calculations that a process knows. */
export interface Calculations {
  list(): readonly AnyCalculation[];
  /** Throws `InputError` naming the known ones. */
  get(name: string): AnyCalculation;
  /** The identity of its code, see `identity.ts`: `primes@1`, `mine@sha256:3f2a8b1c9d0e`. Throws as `get`. */
  versionOf(name: string): string;
  /** A user's file, or one that it imports, was changed since this process loaded it. Throws as `get`. */
  changedSince?(name: string): boolean;
  parseParams(calculation: AnyCalculation, raw: unknown): unknown;
  describeParams(calculation: AnyCalculation): readonly ParamRow[];
}

/** The built-in calculations and those of the user's files, given as absolute paths. Throws `ConfigError`. */
export async function loadCalculations(files: readonly string[]): Promise<Calculations> {
  const byName = new Map<string, Known>(builtIn.map((one) => [one.name, { calculation: one }]));
  for (const file of files) {
    const loaded = await loadFile(file);
    if (byName.has(loaded.name)) {
      throw new ConfigError(
        "calculation-name",
        `${file}: there is a calculation named ${loaded.name} already`,
      );
    }
    byName.set(loaded.name, { calculation: loaded, url: pathToFileURL(file).href });
  }
  const find = (name: string): Known => {
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
    versionOf: (name) => versionOf(find(name)),
    changedSince(name) {
      const { url } = find(name);
      return url !== undefined && hashNow(url) !== loadedHash(url);
    },
    parseParams,
    describeParams,
  };
}

interface Known {
  readonly calculation: AnyCalculation;
  /** Of a user's file. */
  readonly url?: string;
}

function versionOf({ calculation, url }: Known): string {
  const { name, version } = calculation;
  if (version !== undefined || url === undefined) return identityOf(name, version ?? "1");
  return identityOf(name, `sha256:${loadedHash(url).slice(0, 12)}`);
}

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
  if (found.version !== undefined && !declaredVersionPattern.test(String(found.version))) {
    throw new ConfigError(
      "bad-calculation-file",
      `${file}: the version ${JSON.stringify(found.version)} is not 1 to 40 letters, digits, ".", "_", "+" and "-"`,
    );
  }
  return found as AnyCalculation;
}
