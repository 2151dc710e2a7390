import { execFile } from "node:child_process";
import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);
/** What `scripts/build.mjs` reads, and what an app folder has beside `dist`. */
const parts = ["src", "packages", "scripts", "bin", "docs", "python", "host.json", "package.json", "LICENSE"];
const settings = ["tsconfig.json", "tsconfig.types.json", "tsconfig.dashboard.json"];

/**
 * Builds the present source in a folder as a release that writes the next version of every document but the leader record. Once a
 * newer one of that is written, an older release never leads again, so that the two would end their runs in one order alone.
 */
export async function buildNext(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  for (const part of [...parts, ...settings])
    await cp(join(root, part), join(folder, part), { recursive: true });
  const file = join(folder, "src/engine/model/versions.ts");
  const source = await readFile(file, "utf8");
  const next = source.replace(/^( {2}\.\.\.\{.*\},)$/gm, (line) =>
    line.replace(/(\w+): (\d+)/g, (same, name, v) =>
      name === "leader" ? same : `${name}: ${Number(v) + 1}`,
    ),
  );
  if (next === source) throw new Error(`${file} is not as this expects`);
  await writeFile(file, next);
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
