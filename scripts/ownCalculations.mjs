import { execFile } from "node:child_process";
import { copyFile, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";

/** A file that exports a calculation. Two dots, as in `mine.test.ts`, or a folder are no calculation. */
const calculationFile = /^[^.]+\.[cm]?[jt]s$/;
/** What calculations may read beside them, such as a kernel; not what belongs to editors and npm. */
const dataFile = /^(?!package(-lock)?\.json$|tsconfig)[^.]+(\.(?!md$|[cm]?[jt]s$)\w+)$/;

/**
 * Bundles each calculation of `ROOT/calculations` into `DIST/calculations/NAME.mjs`, which the app registers at its
 * start, and copies data files beside them. Packages and helpers that they import are in the bundle; `leasefold` is the
 * app's own. Readable, as the place of an error is shown by it. Needs the program in DIST. Returns the names of the files made;
 * throws if one is no calculation, which would otherwise stop the app in Azure.
 */
export async function buildOwnCalculations(root, dist = join(root, "dist")) {
  const folder = join(root, "calculations");
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const names = entries.filter((one) => one.isFile()).map(({ name }) => name);
  const code = names.filter((name) => calculationFile.test(name)).sort();
  if (code.length === 0) return [];
  const out = join(dist, "calculations");
  await mkdir(out, { recursive: true });
  await build({
    absWorkingDir: root,
    entryPoints: code.map((name) => join(folder, name)),
    outdir: out,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    target: "node22",
    format: "esm",
    keepNames: true,
    external: ["leasefold"],
    // Packages in CommonJS call `require` for the modules of Node; a name of its own would clash with one in the file.
    banner: {
      js: 'import { createRequire as requireFrom } from "node:module"; globalThis.require ??= requireFrom(import.meta.url);',
    },
    logLevel: "warning",
  });
  const data = names.filter((name) => dataFile.test(name));
  await Promise.all(data.map((name) => copyFile(join(folder, name), join(out, name))));
  const list = `require(process.argv[1]).main(["calculations"]).then((code) => process.exit(code))`;
  const args = ["--eval", list, join(dist, "cli.cjs")];
  await promisify(execFile)(process.execPath, args, { cwd: root }).catch(({ stderr }) => {
    throw new Error(`calculations/ does not build: ${stderr.trim()}`);
  });
  return [...code.map((name) => name.replace(/[cm]?[jt]s$/, "mjs")), ...data];
}
