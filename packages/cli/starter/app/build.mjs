// Writes dist/, the package that Azure gets: host.json, package.json, src/ without tests, and the packages that the app depends on,
// without those for development. Nothing is compiled, because Node runs TypeScript by itself: so a calculation has the same code
// here and on Azure. Not promised: that it works where Yarn keeps packages in archives (Plug'n'Play).
import { cpSync, existsSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const root = import.meta.dirname;
const dist = join(root, "dist");
const readPackage = (folder) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

/** The real folder of a package that `folder` imports. */
function find(name, folder) {
  const found = join(folder, "node_modules", name);
  if (existsSync(found)) return realpathSync(found);
  return dirname(folder) === folder ? undefined : find(name, dirname(folder));
}

/** Real folders by their path in dist/, where each package finds those that it imports. */
const placed = new Map();
function placedFor(name, at) {
  const found = placed.get(join(at, "node_modules", name));
  return found ?? (at === "." ? undefined : placedFor(name, dirname(at)));
}
function place(folder, at) {
  const { dependencies, optionalDependencies } = readPackage(folder);
  const added = [];
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    const found = find(name, folder);
    const there = placedFor(name, at);
    // A package may be optional because it is for other systems.
    if (found === undefined && optionalDependencies?.[name] !== undefined) continue;
    if (found === undefined) throw new Error(`the package ${name} is missing: run npm install`);
    if (found === there) continue;
    const to = join(there === undefined ? "." : at, "node_modules", name);
    placed.set(to, found);
    added.push([found, to]);
  }
  for (const [found, to] of added) place(found, to);
}

rmSync(dist, { recursive: true, force: true });
const copy = (from, to, isLeftOut) =>
  cpSync(from, join(dist, to), {
    recursive: true,
    filter: (path) => !isLeftOut.test(relative(from, path).replaceAll("\\", "/")),
  });
copy(join(root, "src"), "src", /\.test\.\w+$/);
cpSync(join(root, "host.json"), join(dist, "host.json"));
const { devDependencies, scripts, ...about } = readPackage(root);
writeFileSync(join(dist, "package.json"), `${JSON.stringify(about, null, 2)}\n`);

const forEditors = String.raw`(^|/)(node_modules|\.git)(/|$)|\.map$|\.d\.[cm]?ts$`;
place(root, ".");
for (const [to, folder] of placed) {
  const isOurs = readPackage(folder).name === "leasefold";
  const others = isOurs
    ? "|^(?!(dist|host\\.json|package\\.json|LICENSE)(/|$)).|^dist/(types|starter)(/|$)"
    : "";
  copy(folder, to, new RegExp(forEditors + others));
}
console.log("wrote dist/, the package that Azure gets");
