import { existsSync, readFileSync } from "node:fs";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve, sep } from "node:path";
import * as z from "zod";
import { ConfigError, InputError } from "../../../src/engine/model/errors.ts";
import { namePattern } from "../../../src/engine/model/identity.ts";
import { builtIn } from "../../sql/builtIn.ts";
import { makeFolder } from "../local/makeFolder.ts";
import { calculationsFolder, findUserApp } from "../local/userApp.ts";
import { badOption, isSystemError, systemReason } from "../options.ts";

/**
 * Writes `NAME.ts` and `NAME.test.ts`, with `python` also `NAME.py` and the Dockerfile of a worker, and a project of npm where there is
 * none yet. Links this package into the folder's
 * `node_modules` unless `leasefold` is found from there, for editors and the test. Returns full paths, and as `node` what runs
 * the test: a clone may have a newer Node than the system. Throws `InputError` before anything is written.
 */
export async function writeStarter(
  name: string,
  at: { readonly folder: string; readonly dir: string | undefined; readonly python?: boolean | undefined },
) {
  if (!namePattern.test(name)) {
    const rule = "must be 1 to 40 lower-case letters, digits and dashes, beginning with a letter";
    const message = `invalid name: ${JSON.stringify(name)}: ${rule}`;
    throw new InputError("invalid", "bad-name", message, { field: "name" });
  }
  if (builtIn.some((known) => known.name === name)) {
    const message = `the name is taken: there is a calculation named ${name} already`;
    throw new InputError("conflict", "calculation-name", message, { field: "name" });
  }
  const root = ownRoot();
  const folder = resolve(at.folder, at.dir ?? usualFolder(resolve(at.folder), root));
  const end = isModule(folder) ? "ts" : "mts";
  const [calculation, test] = [join(folder, `${name}.${end}`), join(folder, `${name}.test.${end}`)];
  const projectFolder = folderAbove(folder, "package.json");
  const files: Readonly<Record<string, string>> =
    at.python === true
      ? {
          [calculation]: "python/calculation.ts",
          [test]: "calculation.test.ts",
          [join(folder, `${name}.py`)]: "python/calculation.py",
          // That of a clone has its calculations (docs/OPERATIONS.md).
          ...(projectFolder === root ? {} : { [join(folder, `${name}.Dockerfile`)]: "python/dockerfile" }),
        }
      : { [calculation]: "calculation.ts", [test]: "calculation.test.ts" };
  const taken = Object.keys(files).find((path) => existsSync(path));
  if (taken !== undefined) {
    const message = `the file exists: ${taken}: choose another name or --dir`;
    throw new InputError("conflict", "file-exists", message);
  }
  const source = starterFolder();
  const project: string[] = [];
  const there = relative(projectFolder ?? folder, folder)
    .split(sep)
    .join("/");
  try {
    for (const [to, file] of Object.entries(files)) {
      const text = (await readFile(join(source, file), "utf8"))
        .replaceAll("STARTING-PATH", there === "" ? name : `${there}/${name}`)
        .replaceAll("STARTING-FOLDER", there === "" ? "." : there)
        .replaceAll("STARTING-END", end);
      await makeFolder(folder);
      await writeFile(to, startingText(text, name, end), { flag: "wx" });
    }
    if (projectFolder === undefined) project.push(...(await writeProject(name, folder, root)));
  } catch (cause) {
    throw badOption("dir", `cannot write in ${folder}: ${systemReason(cause)}`, "bad-folder");
  }
  const node = existsSync(nodeOf(root)) ? nodeOf(root) : "node";
  return { calculation, test, files: Object.keys(files), project, root, node, ...(await link(folder, root)) };
}

/** The folder of this package. Throws `ConfigError`. */
export function ownRoot(): string {
  const root = folderAbove(import.meta.dirname, "package.json");
  if (root === undefined) throw new ConfigError("no-package", "package.json is missing above the program");
  return root;
}

/** Where what is packaged for Azure is taken from, in a clone of this project and in an app of a user's own; else the folder itself. */
function usualFolder(folder: string, root: string): string {
  if (folder === root) return "calculations";
  return findUserApp(folder)?.appDir === folder ? calculationsFolder : ".";
}

/** What begins as a file of the starter, with the name of the calculation and the ending of its file. */
export const startingText = (text: string, name: string, end: string): string =>
  text
    // The reader may use another linter.
    .replace(/^ *\/\/ biome-ignore .*\n/gm, "")
    .replaceAll("STARTING-NAME", name)
    .replaceAll("./calculation.ts", `./${name}.${end}`);

/** What a user's own `package.json` takes from that of this package, which a project in `folder` depends on. */
export async function packageFacts(folder: string, root: string) {
  const own = ownPackageSchema.parse(JSON.parse(await readFile(join(root, "package.json"), "utf8")));
  const { "@types/node": types, typescript, azurite } = own.devDependencies;
  const file = root.split(sep).includes("node_modules") ? await installedFrom(root) : root;
  const at = file === undefined ? `^${own.version}` : `file:${relative(folder, file).split(sep).join("/")}`;
  return { ...own, leasefold: at, types: { "@types/node": types, typescript }, azurite };
}

/** The file or folder that npm installed this package from; undefined if that was a registry. */
async function installedFrom(root: string): Promise<string | undefined> {
  const above = dirname(dirname(root));
  const text = await readFile(join(above, "node_modules", ".package-lock.json"), "utf8").catch(() => "{}");
  const lock = lockSchema.safeParse(JSON.parse(text)).data;
  const resolved = lock?.packages["node_modules/leasefold"]?.resolved ?? "";
  return resolved.startsWith("file:") ? resolve(above, resolved.slice("file:".length)) : undefined;
}

const lockSchema = z.looseObject({
  packages: z.record(z.string(), z.looseObject({ resolved: z.string().optional() })),
});

/** What the editor checks, as Node runs it. */
export const compilerOptions = {
  target: "es2024",
  module: "nodenext",
  strict: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  erasableSyntaxOnly: true,
  skipLibCheck: true,
  types: ["node"],
};

/**
 * Writes `package.json` and `tsconfig.json` and returns their paths. The package depends on this one, so that npm, which removes
 * what no package asks for, keeps the link; a package that npm installed is asked for by its version, or by the file that it was installed from.
 */
async function writeProject(name: string, folder: string, root: string): Promise<string[]> {
  const { leasefold, types } = await packageFacts(folder, root);
  // The system may have a Node that does not run TypeScript.
  const ownNode = existsSync(nodeOf(root)) ? `./${nodeOf("node_modules/leasefold")}` : "node";
  const files = {
    "package.json": {
      name,
      private: true,
      type: "module",
      scripts: { test: `${ownNode} --test` },
      dependencies: { leasefold },
      devDependencies: types,
    },
    "tsconfig.json": { compilerOptions },
  };
  const written = Object.entries(files).map(async ([file, content]) => {
    const path = join(folder, file);
    if (existsSync(path)) return [];
    await writeFile(path, `${JSON.stringify(content, null, 2)}\n`, { flag: "wx" });
    return [path];
  });
  return (await Promise.all(written)).flat();
}

const ownPackageSchema = z.looseObject({
  version: z.string(),
  engines: z.looseObject({ node: z.string() }),
  devDependencies: z.looseObject({
    ...{ "@types/node": z.string(), typescript: z.string(), azurite: z.string() },
  }),
});

/** The Node that a clone has among its packages. */
const nodeOf = (root: string): string => join(root, "node_modules", "node", "bin", "node");

/**
 * Makes `import "leasefold"` work in the folder, as `npm install` of this package would. `linked` is the link, if one had
 * to be made; `unlinked` says why it could not be made, and what to do.
 */
async function link(folder: string, root: string): Promise<{ linked?: string; unlinked?: string }> {
  try {
    createRequire(join(folder, "x.js")).resolve("leasefold/package.json");
    return {};
  } catch {
    // Not found, so a link is needed.
  }
  const linked = join(folder, "node_modules", "leasefold");
  try {
    await makeFolder(dirname(linked));
    // A junction needs no rights on Windows; other systems ignore the type.
    await symlink(root, linked, "junction");
    await linkBin(folder, root);
    return { linked };
  } catch (cause) {
    const why = `a link could not be made: ${systemReason(cause)}`;
    return { unlinked: `the test needs the package leasefold: npm install ${root} (${why})` };
  }
}

/** Makes `npx --no-install leasefold` work in the folder, except on Windows, which does not start such links. */
async function linkBin(folder: string, root: string): Promise<void> {
  const bin = join(folder, "node_modules", ".bin", "leasefold");
  if (process.platform === "win32" || existsSync(bin)) return;
  await makeFolder(dirname(bin));
  // A dangling link may exist; the program can still be called by its path.
  await symlink(join(root, "bin", "leasefold.js"), bin).catch(() => {});
}

/** The folder itself, or the nearest one above it, that has the file. */
function folderAbove(folder: string, file: string): string | undefined {
  if (existsSync(join(folder, file))) return folder;
  return dirname(folder) === folder ? undefined : folderAbove(dirname(folder), file);
}

const packageSchema = z.looseObject({ type: z.unknown().optional() });

/**
 * Whether Node takes a `.ts` file for an ES module at once: in a CommonJS package it cannot import ES modules, and in one
 * without a type Node tries that first, with a warning.
 */
function isModule(folder: string): boolean {
  const root = folderAbove(folder, "package.json");
  if (root === undefined) return true;
  const file = join(root, "package.json");
  try {
    return packageSchema.parse(JSON.parse(readFileSync(file, "utf8"))).type === "module";
  } catch (cause) {
    const why = isSystemError(cause) ? systemReason(cause) : "it must hold a JSON object";
    throw new ConfigError("bad-package-json", `${file} is no package.json that can be read: ${why}`, {
      cause,
    });
  }
}

/** In the bundle it is beside the program, in the source it is the folder of this file. */
export function starterFolder(): string {
  const folders = [join(import.meta.dirname, "starter"), import.meta.dirname];
  const found = folders.find((folder) => existsSync(join(folder, "calculation.ts")));
  if (found !== undefined) return found;
  throw new ConfigError("no-starter", "the starting file is missing: run npm run build");
}
