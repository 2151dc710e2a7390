// Writes dist/, the package that Azure gets: host.json, package.json, src/ without tests, and the packages that the app depends on.
// Nothing is compiled, because Node runs TypeScript by itself: so a calculation has the same code here and on Azure.
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";

const root = import.meta.dirname;
const dist = join(root, "dist");
const readPackage = (folder) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

/** The folder from which Node loads a package that `folder` imports. */
function find(name, folder) {
  const found = join(folder, "node_modules", name);
  if (existsSync(found)) return found;
  return dirname(folder) === folder ? undefined : find(name, dirname(folder));
}

/** The folders of all packages behind this one, without those for development. */
function packagesBehind(folder, found = new Set()) {
  const { dependencies, optionalDependencies } = readPackage(folder);
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    const at = find(name, folder);
    // A package may be optional because it is for other systems.
    if (at === undefined && optionalDependencies?.[name] === undefined)
      throw new Error(`the package ${name} is missing: run npm install`);
    if (at !== undefined && !found.has(at)) packagesBehind(at, found.add(at));
  }
  return found;
}

rmSync(dist, { recursive: true, force: true });
const copy = (from, to, isLeftOut) =>
  cpSync(from, join(dist, to), {
    recursive: true,
    dereference: true,
    filter: (path) => !isLeftOut.test(relative(from, path).replaceAll("\\", "/")),
  });
copy(join(root, "src"), "src", /\.test\.\w+$/);
copy(join(root, "host.json"), "host.json", /^$x/);
const { devDependencies, overrides, scripts, ...about } = readPackage(root);
writeFileSync(join(dist, "package.json"), `${JSON.stringify(about, null, 2)}\n`);
for (const folder of packagesBehind(root)) {
  // In a monorepo a package may be above this folder.
  const to = relative(root, folder).replace(/^(\.\.[\\/])+/, "");
  const isOurs = basename(folder) === "leasefold";
  copy(
    folder,
    to,
    isOurs
      ? /(^|\/)node_modules(\/|$)|\.d\.ts$|^(docs|examples|infra)$/
      : /(^|\/)node_modules(\/|$)|\.(map|md)$|\.d\.[cm]?ts$/,
  );
}
console.log("wrote dist/, the package that Azure gets");
