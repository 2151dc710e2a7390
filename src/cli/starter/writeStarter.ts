import { existsSync, readFileSync } from "node:fs";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { loadCalculations, namePattern } from "../../calculations/registry.ts";
import { ConfigError, InputError } from "../../model/errors.ts";

export interface Started {
  /** Full paths of what was written. */
  readonly calculation: string;
  readonly test: string;
  /** The link by which the test finds `leasefold`, where one had to be made. */
  readonly linked?: string;
  /** Why it could not be made, and what to do. */
  readonly unlinked?: string;
}

/**
 * Writes `NAME.ts` and `NAME.test.ts`, and links this package into the folder's `node_modules` where `leasefold` is not
 * found from there, so that editors and `node --test` find it. Throws `InputError` for a bad name and for a file
 * that is there already; then nothing was written.
 */
export async function writeStarter(name: string, at: { folder: string; dir: string }): Promise<Started> {
  if (!namePattern.test(name)) {
    const rule = "is not 1 to 40 lower-case letters, digits and dashes, beginning with a letter";
    throw new InputError("invalid", "bad-name", `name: ${JSON.stringify(name)} ${rule}`, { field: "name" });
  }
  if ((await loadCalculations([])).list().some((known) => known.name === name)) {
    throw new InputError(
      "conflict",
      "calculation-name",
      `name: there is a calculation named ${name} already`,
      {
        field: "name",
      },
    );
  }
  const folder = resolve(at.folder, at.dir);
  const end = isCommonJs(folder) ? "mts" : "ts";
  const [calculation, test] = [join(folder, `${name}.${end}`), join(folder, `${name}.test.${end}`)];
  const taken = [calculation, test].find((path) => existsSync(path));
  if (taken !== undefined) {
    throw new InputError(
      "conflict",
      "file-exists",
      `${taken} is there already; choose another name or --dir`,
    );
  }
  const root = packageRoot();
  const named = async (file: string): Promise<string> =>
    (await readFile(join(starterFolder(), file), "utf8"))
      // The linter of this project is not the reader's.
      .replace(/^ *\/\/ biome-ignore .*\n/gm, "")
      .replaceAll("STARTING-NAME", name)
      .replaceAll("./calculation.ts", `./${name}.${end}`);
  const texts = [await named("calculation.ts"), await named("calculation.test.ts")] as const;
  try {
    await mkdir(folder, { recursive: true });
    await writeFile(calculation, texts[0], { flag: "wx" });
    await writeFile(test, texts[1], { flag: "wx" });
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? "unknown";
    throw new InputError("invalid", "bad-folder", `--dir: cannot write in ${folder} (${code})`, {
      field: "dir",
    });
  }
  return { calculation, test, ...(await link(folder, root)) };
}

/** Makes `import "leasefold"` work in the folder, as `npm install` of this very package would. */
async function link(folder: string, root: string): Promise<Pick<Started, "linked" | "unlinked">> {
  try {
    createRequire(join(folder, "x.js")).resolve("leasefold/package.json");
    return {};
  } catch {
    // Not found from there, which is the reason for all this.
  }
  const linked = join(folder, "node_modules", "leasefold");
  try {
    await mkdir(dirname(linked), { recursive: true });
    // A junction needs no rights on Windows; elsewhere the kind means nothing.
    await symlink(root, linked, "junction");
    await linkBin(folder, root);
    return { linked };
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? "unknown";
    return {
      unlinked: `the test needs the package leasefold: npm install ${root} (a link could not be made: ${code})`,
    };
  }
}

/** Makes `npx --no-install leasefold` work in the folder. Windows starts no such links; there the link above has to do. */
async function linkBin(folder: string, root: string): Promise<void> {
  const bin = join(folder, "node_modules", ".bin", "leasefold");
  if (process.platform === "win32" || existsSync(bin)) return;
  await mkdir(dirname(bin), { recursive: true });
  // One that leads nowhere may be there; the program can still be called by its path.
  await symlink(join(root, "bin", "leasefold.js"), bin).catch(() => {});
}

/** Where the nearest package.json says so, a `.ts` file could not import anything. */
function isCommonJs(folder: string): boolean {
  for (let at = folder; ; at = dirname(at)) {
    const file = join(at, "package.json");
    if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8")).type === "commonjs";
    if (dirname(at) === at) return false;
  }
}

/** In the bundle it lies beside the program, in the source it is the folder of this file. */
function starterFolder(): string {
  const found = [join(import.meta.dirname, "starter"), import.meta.dirname].find((folder) =>
    existsSync(join(folder, "calculation.ts")),
  );
  if (found === undefined)
    throw new ConfigError("no-starter", "the starting file is missing; run npm run build");
  return found;
}

function packageRoot(): string {
  for (let at = import.meta.dirname; dirname(at) !== at; at = dirname(at)) {
    if (existsSync(join(at, "package.json"))) return at;
  }
  throw new ConfigError("no-package", "package.json is missing above the program");
}
