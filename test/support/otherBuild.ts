import { execFile } from "node:child_process";
import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);
/** What `scripts/build.mjs` reads, and what an app folder has beside `dist`. */
const parts = ["src", "scripts", "bin", "docs", "python", "host.json", "package.json", "LICENSE"];
const settings = ["tsconfig.json", "tsconfig.types.json", "tsconfig.dashboard.json"];

/** Versions of a build of the present source: so much is added to those that it writes, and so much to those that it reads as well. */
export interface Shift {
  readonly writes: 0 | 1;
  readonly reads: 0 | 1;
}

/**
 * Builds the present source in a folder as the release that a developer would make of it: the table of versions says what it
 * writes, and its readers what else it reads. Nothing else of a document is changed.
 */
export async function buildShifted(folder: string, { writes, reads }: Shift): Promise<string> {
  await mkdir(folder, { recursive: true });
  for (const part of [...parts, ...settings])
    await cp(join(root, part), join(folder, part), { recursive: true });
  const file = join(folder, "src/engine/model/versions.ts");
  const source = await readFile(file, "utf8");
  const shifted = source
    .replace(/^( {2}\.\.\.\{.*\},)$/gm, (line) =>
      line.replace(/: (\d+)/g, (_, v) => `: ${Number(v) + writes}`),
    )
    .replace(
      /^const readers: ([^=]*) = \{\};$/m,
      `const readers: $1 = Object.fromEntries(Object.entries(versions).map(([kind, v]) => [kind, { [v + ${reads - writes || -1}]: (same) => same }]));`,
    );
  if (shifted === source) throw new Error(`${file} is not as this expects`);
  await writeFile(file, shifted);
  return build(folder);
}

/** Builds the sources of a tag in a folder; with the packages of this checkout. */
export async function buildTag(folder: string, tag: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const archive = join(folder, "source.tar");
  await run("git", ["archive", "--output", archive, tag], { cwd: root });
  await run("tar", ["-xf", archive, "-C", folder]);
  return build(folder);
}

async function build(folder: string): Promise<string> {
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  await run(process.execPath, ["scripts/build.mjs", "--quiet"], { cwd: folder });
  return folder;
}

/** The newest tag of a release; undefined where there is none, or none was fetched. */
export async function lastTag(): Promise<string | undefined> {
  const { stdout } = await run("git", ["tag", "--list", "v*", "--sort=-version:refname"], { cwd: root });
  return stdout.split("\n")[0] || undefined;
}
