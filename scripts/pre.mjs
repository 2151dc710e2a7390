import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Runs before the other scripts, on whatever Node the system has and with nothing installed: installs what `package.json` names,
 * and with `tools` what `test/tools` names as well, where that is missing or other than what the lockfile says. The script after it runs on
 * the Node that is among the packages.
 */
const root = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "..");
const lockfile = join(root, "package-lock.json");
/** npm writes it last. */
const installed = join(root, "node_modules", ".package-lock.json");
const packagesOf = (file) => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).packages : {});

const node = join(root, "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node");
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
/** The Node among the packages comes last; an installation that was interrupted lacks it. */
const lacksNode = () => !existsSync(node) && (major < 22 || (major === 22 && minor < 18));

const tools = "node_modules/leasefold-tools";
const hasTools = tools in packagesOf(installed);
const wantsTools = hasTools || process.argv.includes("tools");
if (!existsSync(installed) || isOther() || lacksNode()) {
  // npm fails over what an interrupted installation left, and would delete what is whole.
  rmSync(join(root, "node_modules"), { recursive: true, force: true, maxRetries: 5 });
  await install("Installing the packages, once …", ["ci", ...(wantsTools ? [] : ["--workspaces=false"])]);
} else if (wantsTools && !hasTools) {
  // Whatever comes after an interruption begins anew.
  rmSync(installed);
  await install("Installing what tests and checks need, once …", ["install", "--no-save"]);
}

/** Git writes the lockfile anew in each worktree, so an older installation may still be of this lockfile. */
function isOther() {
  if (statSync(installed).mtimeMs >= statSync(lockfile).mtimeMs) return false;
  const [there, locked] = [packagesOf(installed), packagesOf(lockfile)];
  const differs = ([folder, { version, integrity }]) =>
    version !== locked[folder]?.version || integrity !== locked[folder]?.integrity;
  return foldersFor(locked).some((folder) => !(folder in there)) || Object.entries(there).some(differs);
}

/** npm says nothing before it has ended, so the folders that it has added are counted. */
async function install(title, args) {
  const missing = foldersFor(packagesOf(lockfile))
    .map((folder) => join(root, folder, "package.json"))
    .filter((file) => !existsSync(file));
  const [onTerminal, startedMs] = [process.stdout.isTTY === true, Date.now()];
  console.log(title);
  const tell = () => {
    const there = missing.filter((one) => existsSync(one)).length;
    const line = `  ${there} of ${missing.length} after ${Math.round((Date.now() - startedMs) / 1000)} s`;
    process.stdout.write(onTerminal ? `\r${line}` : `${line}\n`);
  };
  const telling = setInterval(tell, onTerminal ? 500 : 10_000);
  // By its name: the Node that runs this may be among the packages that are gone.
  const child = spawn("npm", [...args, "--progress=false"], {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  // npm would go on for seconds, and meet the next command's installation.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => child.kill("SIGKILL"));
  const status = await new Promise((resolve) => {
    child.on("exit", (code) => resolve(code ?? 1));
    child.on("error", ({ message }) => resolve(console.error(`npm cannot be started: ${message}`) ?? 1));
  });
  clearInterval(telling);
  if (onTerminal) process.stdout.write("\n");
  if (status !== 0) process.exit(status);
}

/** The folders of the packages that are asked for, and of those that these need. */
function foldersFor(packages) {
  const found = new Set();
  const add = (name, from) => {
    const folder = join(from, "node_modules", name).replaceAll("\\", "/");
    if (!(folder in packages)) return from === "." ? undefined : add(name, dirname(from));
    // What is optional is for some systems only.
    if (found.has(folder) || packages[folder].optional) return;
    found.add(folder);
    addAll(packages[folder].dependencies, folder);
  };
  const addAll = (names, from) => {
    for (const name of Object.keys(names ?? {})) add(name, from);
  };
  addAll(packages[""].dependencies, ".");
  addAll(packages[""].devDependencies, ".");
  if (wantsTools) addAll(packages["test/tools"].dependencies, ".");
  return [...found];
}

if (lacksNode()) {
  console.error(
    `Node ${process.versions.node} is too old and the Node among the dependencies is missing: install Node 24, or run npm ci without --ignore-scripts.`,
  );
  process.exit(1);
}
