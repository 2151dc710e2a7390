import { hash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import * as module from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { ConfigError } from "../model/errors.ts";
import { isOwnCode, packageHash, packageOf } from "./packages.ts";

/**
 * The files of a user's calculation as this thread has loaded them: the file itself and all that it imports, directly
 * or not, with the packages among them by their versions (`packages.ts`). Together they are its code, and their hash identifies it.
 *
 * Not covered: files that the code reads by itself, unless it names them (`countIn`), `import()` during `compute`, and the
 * `leasefold` library. An author whose results depend on those declares a `version`.
 */
const imports = new Map<string, Map<string, string>>();
const loaded = new Map<string, string>();

/** Hex SHA-256 of the code behind a loaded file, of the file alone if it imports no other. Later imports change it. */
export const loadedHash = (url: string): string => graphHash(url, (file) => loaded.get(file) ?? hashOf(file));

/** The same hash of the files as they are now; it differs if a file has changed or is gone. */
export function hashNow(url: string): string {
  try {
    return graphHash(url, hashOf);
  } catch {
    return "gone";
  }
}

/** The hash of one file as it is now. */
export function fileHashNow(url: string): string {
  try {
    return hashOf(url);
  } catch {
    return "gone";
  }
}

/** The URLs of all files behind a loaded file, those of packages among them, with their hashes as they were loaded. */
export const loadedFiles = (url: string): readonly (readonly [string, string])[] =>
  graphOf(url).map((file) => [file, loaded.get(file) ?? fileHashNow(file)]);

/** The paths of the user's own files behind a loaded file, itself first. */
export const filesBehind = (url: string): readonly string[] =>
  graphOf(url)
    .filter(isOwnCode)
    .map((file) => fileURLToPath(file));

/** Counts files that the code behind a loaded file names as its own, by these names, as they are now. */
export function countIn(url: string, files: Readonly<Record<string, string>>): void {
  const known = imports.get(url) ?? new Map<string, string>();
  for (const [name, path] of Object.entries(files)) {
    const file = pathToFileURL(path).href;
    loaded.set(file, hashOf(file));
    known.set(name, file);
  }
  imports.set(url, known);
}

/** The files in the order of a walk by sorted specifiers, which does not depend on where the files are. */
function graphOf(root: string): readonly string[] {
  const met = new Set([root]);
  for (const url of met) for (const [, next] of edgesOf(url)) met.add(next);
  return [...met];
}

function graphHash(root: string, hashOfFile: (url: string) => string): string {
  const graph = graphOf(root);
  if (graph.length === 1) return hashOfFile(root);
  const indexes = new Map(graph.map((url, index) => [url, index]));
  const rows = graph.map((url) => [
    hashOfFile(url),
    ...edgesOf(url).map(([specifier, next]) => [specifier, indexes.get(next)]),
  ]);
  return hash("sha256", JSON.stringify(rows));
}

const edgesOf = (url: string): readonly (readonly [string, string])[] =>
  [...(imports.get(url) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));

const isFile = (url: string): boolean => url.startsWith("file:");

/** Of a file of a package also what that package is: the file alone may load others. */
function hashOf(url: string): string {
  const bytes = hash("sha256", readFileSync(fileURLToPath(url)));
  const found = packageOf(url);
  return found === undefined ? bytes : hash("sha256", `${bytes} ${packageHash(found)}`);
}

/**
 * Whether a file in TypeScript is a module although its package says `commonjs`, as `npm init` writes it: there Node would end at
 * its first `import`.
 */
const isModuleInCommonJs = (url: string, format: string | null | undefined): boolean =>
  format === "commonjs-typescript" && /^(import|export)\b/m.test(readFileSync(fileURLToPath(url), "utf8"));

/** Node refuses TypeScript below `node_modules`, where the copy of a workspace's package is. */
const isPackagedTypeScript = (url: string): boolean =>
  /\/node_modules\/.*\.[cm]?ts$/.test(url) && isOwnCode(url);

const stripped = (url: string, format: string | null | undefined) => ({
  format: format?.startsWith("commonjs") === true ? "commonjs" : "module",
  source: module.stripTypeScriptTypes(readFileSync(fileURLToPath(url), "utf8")),
  shortCircuit: true,
});

function keepHash(url: string): void {
  if (!loaded.has(url)) loaded.set(url, hashOf(url));
}

let hooked = false;

/**
 * Makes `import "leasefold"` work from any user's file in this thread, and records what files import. The library is
 * `leasefold.mjs` beside the bundle, or the file of the library in a clone.
 */
export function resolveLeasefold(): void {
  if (hooked) return;
  if (module.registerHooks === undefined) {
    const message = `your own calculations need Node 22 from 22.18 on, or Node 24 or later; this is ${process.version}`;
    throw new ConfigError("old-node", message);
  }
  const file = ["leasefold.mjs", "../../calculations/leasefold.ts"]
    .map((name) => join(import.meta.dirname, name))
    .find((path) => existsSync(path));
  if (file === undefined)
    throw new ConfigError("no-library", "leasefold.mjs is missing beside the app; run npm run build");
  const url = pathToFileURL(file).href;
  module.registerHooks({
    resolve(specifier, context, next) {
      if (specifier === "leasefold") return { url, shortCircuit: true };
      const found = next(specifier, context);
      const parent = context.parentURL ?? "";
      if (!isFile(parent) || !isFile(found.url) || !isOwnCode(parent)) return found;
      const known = imports.get(parent) ?? new Map<string, string>();
      imports.set(parent, known.set(specifier, found.url));
      if (!isOwnCode(found.url)) keepHash(found.url);
      return found;
    },
    load(url, context, next) {
      // Right before Node reads it, so that the hash is that of the code that runs.
      if (!isFile(url) || !isOwnCode(url)) return next(url, context);
      keepHash(url);
      const isModule = isModuleInCommonJs(url, context.format);
      if (isPackagedTypeScript(url)) return stripped(url, isModule ? "module" : context.format);
      return next(url, isModule ? { ...context, format: "module-typescript" } : context);
    },
  });
  hooked = true;
}
