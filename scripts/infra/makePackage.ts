import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, posix, resolve } from "node:path";

/**
 * Copies what `.funcignore` leaves of a built app into an empty folder: the package that Azure gets, as azd would make it.
 * Returns the files, sorted, with `/`.
 *
 *   npm run build && node scripts/infra/makePackage.ts FOLDER
 */
export function makePackage(root: string, folder: string): string[] {
  const out = resolve(folder);
  if (existsSync(out) && readdirSync(out).length > 0)
    throw new Error(`${out} is not empty: remove what an earlier package left there`);
  const ignored = ignoredBy(readFileSync(join(root, ".funcignore"), "utf8"));
  const files = filesIn(root, "", ignored).sort();
  if (!files.includes(duckdbBinary)) {
    const install = installDuckdb(readFileSync(join(root, "package.json"), "utf8"));
    throw new Error(
      `${duckdbBinary} is missing, which sql needs on Azure: run "${install}", and build again`,
    );
  }
  for (const file of files) {
    mkdirSync(dirname(join(out, file)), { recursive: true });
    cpSync(join(root, file), join(out, file));
  }
  return files;
}

/** DuckDB for Linux x64. */
export const duckdbBinary = "dist/node_modules/@duckdb/node-bindings-linux-x64/libduckdb.so";

/** What installs it on a machine of another kind, in the version that `package.json` names. */
export function installDuckdb(packageJson: string): string {
  const { devDependencies } = JSON.parse(packageJson) as { devDependencies: Record<string, string> };
  return `npm install --no-save --force @duckdb/node-bindings-linux-x64@${devDependencies["@duckdb/node-api"]}`;
}

/**
 * Whether azd leaves a file or folder out. It takes a pattern as Git does: a name without `/` is left out at any depth, as
 * `calculations` would be in `dist` (denormal/go-gitignore, which Azure/azure-dev uses). Of `*` the uses here are known.
 */
export const ignoredBy = (text: string): ((path: string) => boolean) =>
  matching(text, (line, isRooted) => `^${isRooted ? "" : "(?:.*/)?"}${line}$`);

/**
 * Whether Core Tools leave a file out: they take a pattern for the beginning of a path up to the end of a word, so that
 * `package` is also `package.json` (GitIgnoreParser of Azure/azure-functions-core-tools).
 */
export const ignoredByCoreTools = (text: string): ((path: string) => boolean) =>
  matching(text, (line) => `^(?:${line})\\b`);

function matching(
  text: string,
  whole: (line: string, isRooted: boolean) => string,
): (path: string) => boolean {
  const patterns = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const escaped = line
        .replace(/^\//, "")
        .replace(/[.+?^${}()|[\]\\]/g, "\\$&")
        .replaceAll("*", "[^/]+");
      return new RegExp(whole(escaped, line.includes("/")));
    });
  return (path) => patterns.some((pattern) => pattern.test(path));
}

function filesIn(root: string, folder: string, ignored: (path: string) => boolean): string[] {
  return readdirSync(join(root, folder)).flatMap((name) => {
    const path = posix.join(folder, name);
    if (ignored(path)) return [];
    return statSync(join(root, path)).isDirectory() ? filesIn(root, path, ignored) : [path];
  });
}

if (process.argv[1] === import.meta.filename) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error("usage: node scripts/infra/makePackage.ts FOLDER");
  console.log(makePackage(join(import.meta.dirname, "..", ".."), folder).join("\n"));
}
