import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

/**
 * Runs before `demo`, `test`, `bench` and `start`, on whatever Node the system has and with nothing installed:
 * installs the dependencies when they are missing or older than the lockfile. The scripts after it run on the Node
 * that is among them.
 */
const root = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "..");
const lockfile = join(root, "package-lock.json");
const installed = join(root, "node_modules", ".package-lock.json");

const node = join(root, "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node");
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
/** The Node among the dependencies comes last; an installation that was interrupted lacks it. */
const lacksNode = () => !existsSync(node) && (major < 22 || (major === 22 && minor < 18));

if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lockfile).mtimeMs || lacksNode())
  await install();

/** npm says nothing before it has ended, so the folders that are there are counted. */
async function install() {
  // npm fails over what an interrupted installation left, and would delete what is whole.
  rmSync(join(root, "node_modules"), { recursive: true, force: true, maxRetries: 5 });
  // Optional ones are for some systems only.
  const packages = Object.entries(JSON.parse(readFileSync(lockfile, "utf8")).packages).flatMap(
    ([folder, { optional }]) => (folder === "" || optional ? [] : [join(root, folder, "package.json")]),
  );
  const [onTerminal, startedMs] = [process.stdout.isTTY === true, Date.now()];
  console.log("Installing the packages, once …");
  const tell = () => {
    const there = packages.filter((one) => existsSync(one)).length;
    const line = `  ${there} of ${packages.length} after ${Math.round((Date.now() - startedMs) / 1000)} s`;
    process.stdout.write(onTerminal ? `\r${line}` : `${line}\n`);
  };
  const telling = setInterval(tell, onTerminal ? 500 : 10_000);
  // Under npm this very npm is used; its path is given by npm itself.
  const npm = process.env.npm_execpath;
  const [command, args] = npm ? [process.execPath, [npm, "ci"]] : ["npm", ["ci"]];
  const child = spawn(command, [...args, "--progress=false"], {
    cwd: root,
    stdio: "inherit",
    shell: !npm && process.platform === "win32",
  });
  const status = await new Promise((resolve) => child.on("error", () => resolve(1)).on("exit", resolve));
  clearInterval(telling);
  if (onTerminal) process.stdout.write("\n");
  if (status !== 0) process.exit(status ?? 1);
}

if (lacksNode()) {
  console.error(
    `Node ${process.versions.node} is too old and the Node among the dependencies is missing: install Node 24, or run npm ci without --ignore-scripts.`,
  );
  process.exit(1);
}
