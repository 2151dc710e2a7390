// Writes dist/, the package that Azure gets: host.json, package.json, src/ without tests, and the packages that the app depends on,
// without those for development. Nothing is compiled, because Node runs TypeScript by itself: so a calculation has the same code
// here and on Azure. Not promised: that it works where Yarn keeps packages in archives (Plug'n'Play).
import { cpSync, existsSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";

const root = import.meta.dirname;
const dist = join(root, "dist");
const readPackage = (folder) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

/** The real folder of a package that `folder` imports. */
function find(name, folder) {
  const found = join(folder, "node_modules", name);
  if (existsSync(found)) return realpathSync(found);
  return dirname(folder) === folder ? undefined : find(name, dirname(folder));
}

/** Azure runs Linux x64 with glibc. A package without such a field is for every system. */
function runsOnAzure(folder) {
  const { os, cpu, libc } = readPackage(folder);
  const allows = (list, own) => {
    const named = [list ?? []].flat();
    return named.includes(own) || named.every((one) => one.startsWith("!") && one !== `!${own}`);
  };
  return allows(os, "linux") && allows(cpu, "x64") && allows(libc, "glibc");
}
const installForAzure =
  'Run "npm ci --os=linux --cpu=x64 --libc=glibc && node build.mjs", then "npm ci" again, or build on Linux x64';

/** Real folders by their path in dist/, where each package finds those that it imports. */
const placed = new Map();
function placedFor(name, at) {
  const found = placed.get(join(at, "node_modules", name));
  return found ?? (at === "." ? undefined : placedFor(name, dirname(at)));
}
function place(folder, at) {
  const about = readPackage(folder);
  const {
    dependencies = {},
    optionalDependencies = {},
    peerDependencies = {},
    peerDependenciesMeta = {},
  } = about;
  // npm installs a peer that no package depends on.
  const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true);
  const added = [];
  for (const name of new Set([dependencies, optionalDependencies].flatMap(Object.keys).concat(peers))) {
    const found = find(name, folder);
    const there = placedFor(name, at);
    if (found === undefined && /linux-x64(?!-musl)/.test(name))
      throw new Error(
        `${relative(root, folder)} needs ${name} on Azure, which is missing. ${installForAzure}`,
      );
    // A package may be optional because it is for other systems.
    const isOptional = name in optionalDependencies || !(name in dependencies);
    if (isOptional && (found === undefined || !runsOnAzure(found))) continue;
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
const src = join(root, "src");
for (const name of readdirSync(src, { recursive: true })) {
  if (!/(?<!\.test|\.d)\.[cm]?[jt]s$/.test(name)) continue;
  const text = readFileSync(join(src, name), "utf8");
  for (const [, path] of text.matchAll(/\b(?:from|import|require)\b[\s(]*["'](\.\.?\/[^"']+)["']/g))
    if (relative(src, join(src, dirname(name), path)).startsWith(".."))
      throw new Error(
        `src/${name} imports ${path}, which is not in the package: move it into src/, or make it a package`,
      );
}
copy(src, "src", /\.test\.\w+$/);
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
  // A package of the same repository: nobody publishes its copy either, so its files, TypeScript too, are code of the app.
  const isOwn = !isOurs && !folder.split(sep).includes("node_modules");
  copy(folder, to, new RegExp(forEditors + others + (isOwn ? String.raw`|\.test\.\w+$|(^|/)\.` : "")));
  if (isOwn)
    writeFileSync(join(dist, to, "package.json"), JSON.stringify({ ...readPackage(folder), private: true }));
}

/** Whether a native module is in the format of Linux on x64 (System V ABI: ELF, e_machine 62). */
const isForAzure = (file) => {
  const bytes = readFileSync(file);
  return bytes.length > 20 && bytes.readUInt32BE(0) === 0x7f454c46 && bytes.readUInt16LE(18) === 62;
};
for (const [to, folder] of placed) {
  const native = readdirSync(join(dist, to), { recursive: true }).filter((name) =>
    /^(?!.*node_modules).*\.node$/.test(name),
  );
  if (native.length > 0 && !native.some((name) => isForAzure(join(dist, to, name))))
    throw new Error(`${relative(root, folder)}/${native[0]} is not for Linux x64. ${installForAzure}`);
}
console.log("wrote dist/, the package that Azure gets");
