import { existsSync, readFileSync, statSync } from "node:fs";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import type { AnyCalculation, Calculations } from "../engine/calculation/contract.ts";
import {
  countIn,
  filesBehind,
  hashNow,
  loadedHash,
  resolveLeasefold,
} from "../engine/calculation/moduleGraph.ts";
import { describeParams, parseParams } from "../engine/calculation/params.ts";
import { placeOf } from "../engine/calculation/placeOf.ts";
import { ConfigError, InputError, messageOf } from "../engine/model/errors.ts";
import { declaredVersionPattern, howToRegister, identityOf, namePattern } from "../engine/model/identity.ts";
import { calculationLimits } from "../engine/model/limits.ts";
import { didYouMean } from "../engine/model/nearNames.ts";
import { primes } from "./primes.ts";

/** What every app has. */
export const always: readonly AnyCalculation[] = [primes];

/**
 * The built-in calculations, which the composition gives, and those of the user's files, given as absolute paths. Throws
 * `ConfigError`.
 */
export async function loadCalculations(
  files: readonly string[],
  builtIn: readonly AnyCalculation[] = always,
): Promise<Calculations> {
  const byName = new Map<string, Known>(builtIn.map((one) => [one.name, { calculation: one }]));
  for (const file of files) {
    const loaded = await loadFile(file);
    if (byName.has(loaded.name)) {
      const message = `${file}: there is already a calculation named ${loaded.name}`;
      throw new ConfigError("calculation-name", message);
    }
    const url = pathToFileURL(file).href;
    countIn(url, loaded.codeFiles ?? {});
    // Now: what it imports only while it computes would change it.
    byName.set(loaded.name, { calculation: loaded, url, hash: loadedHash(url) });
  }
  const find = (name: string): Known => {
    const found = byName.get(name);
    if (found !== undefined) return found;
    // A request of a megabyte may be one name.
    const shown = JSON.stringify(name.length > 80 ? `${name.slice(0, 79)}…` : name);
    const names = [...byName.keys()];
    const message = `there is no calculation ${shown}${didYouMean(name, names)}; there are ${names.join(", ")}; if it is your own, ${howToRegister}`;
    throw new InputError("unknown", "unknown-calculation", message);
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
  /** URL of a user's file. */
  readonly url?: string;
  /** Of the user's code as it was when the file had been loaded. */
  readonly hash?: string;
}

function versionOf({ calculation, hash }: Known): string {
  const { name, version } = calculation;
  if (version !== undefined || hash === undefined) return identityOf(name, version ?? "1");
  return identityOf(name, `sha256:${hash.slice(0, 12)}`);
}

async function loadFile(file: string): Promise<AnyCalculation> {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined)
    throw new ConfigError("no-calculation-file", `there is no calculation file ${file}`);
  if (stats.isDirectory())
    throw new ConfigError("no-calculation-file", `${file} is a folder: name the file of a calculation in it`);
  resolveLeasefold();
  let exported: { default?: unknown; calculation?: unknown };
  try {
    exported = await import(pathToFileURL(file).href);
  } catch (cause) {
    const why = messageOf(cause);
    const [, hint = ""] = hints.find(([pattern]) => pattern.test(why)) ?? [];
    const message = `${file} does not load: ${why}${placeOf(cause) || importPlace(why) || decoratorPlace(why, file)}${hint}`;
    throw new ConfigError("bad-calculation-file", message, { cause });
  }
  const found = (exported.default ?? exported.calculation) as Partial<AnyCalculation> | undefined;
  const wrong = faultOf(found);
  if (wrong !== undefined) throw new ConfigError("bad-calculation-file", `${file}${wrong}`);
  return found as AnyCalculation;
}

/** Node strips types and resolves imports by its own rules. The first pattern that the error has tells what to write instead. */
const hints: readonly (readonly [RegExp, string])[] = [
  [
    /import statement outside a module/,
    '; package.json must say "type": "module", or the file be named .mts or .mjs',
  ],
  [/strip-only mode/, "; types are stripped and not compiled: write what JavaScript has, such as an object"],
  [
    /^Invalid or unexpected token/,
    "; types are stripped and not compiled: JavaScript has no decorators (@name)",
  ],
  [
    /^Cannot find package '[@~]?\//,
    "; aliases of tsconfig.json are not read: import by a relative path with its extension",
  ],
  [/^Cannot find package /, "; npm install it beside the file"],
  [/^Cannot find module /, "; an import names its file with the extension, such as ./part.ts"],
];

/** The line of an import that finds nothing, of which the error names the file only. */
function importPlace(why: string): string {
  const [, asked = "", file = ""] =
    /^Cannot find (?:package|module) '(.+)' imported from (.+)$/m.exec(why) ?? [];
  if (!existsSync(file)) return "";
  const name = why.startsWith("Cannot find package") ? asked : basename(asked);
  const line = readFileSync(file, "utf8")
    .split("\n")
    .findIndex((text) => /\b(from|import)\b.*["']/.test(text) && text.includes(name));
  return line < 0 ? "" : ` (${basename(file)}:${line + 1})`;
}

/** The line of the first decorator, for the error of V8, which names neither file nor line. */
function decoratorPlace(why: string, file: string): string {
  if (!why.startsWith("Invalid or unexpected token")) return "";
  for (const one of filesBehind(pathToFileURL(file).href)) {
    const lines = readFileSync(one, "utf8").split("\n");
    const at = lines.findIndex((line) => /^(?!\s*(?:\/\/|\/?\*))(?:.*[\s{;])?@[\p{L}_$]/u.test(line));
    if (at >= 0) return ` (${basename(one)}:${at + 1})`;
  }
  return "";
}

/** What makes an export no calculation, to follow the file's name. */
function faultOf(found: Partial<AnyCalculation> | undefined): string | undefined {
  if (found === undefined) return " exports no calculation: it lacks a default export";
  const parts = ["name", "summary", "params", "plan", "compute", "merge", "zero"];
  const missing = parts.filter((part) => !(part in Object(found)));
  if (missing.length > 0) return ` exports no calculation: it lacks ${missing.join(", ")}`;
  const { name, version, summary, params, plan, setup, compute, merge, zero, finish, codec, end } = found;
  if (!namePattern.test(String(name)))
    return `: the name ${JSON.stringify(name)} is not 1 to 40 lower-case letters, digits and dashes`;
  if (version !== undefined && !declaredVersionPattern.test(String(version)))
    return `: the version ${JSON.stringify(version)} is not 1 to 40 letters, digits, ".", "_", "+" and "-"`;
  if (typeof summary !== "string") return ": summary is not a text";
  const { concurrency = 1 } = found;
  const { concurrencyMax } = calculationLimits;
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > concurrencyMax)
    return `: concurrency is ${String(concurrency)}; give a whole number from 1 to ${concurrencyMax}`;
  // A schema of zod 3 has no `_zod`, and neither its help nor its JSON Schema can be made.
  if (!("_zod" in Object(params))) return ': params is no schema of zod 4: import { z } from "leasefold"';
  const optional = {
    ...(setup === undefined ? {} : { setup }),
    ...(finish === undefined ? {} : { finish }),
    ...(end === undefined ? {} : { end }),
    ...(codec === undefined ? {} : { "codec.encode": codec?.encode, "codec.decode": codec?.decode }),
  };
  const called = Object.entries({ plan, compute, merge, zero, ...optional });
  const other = called.find(([, part]) => typeof part !== "function");
  return other && `: ${other[0]} is not a function`;
}
