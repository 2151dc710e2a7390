import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";

/**
 * Runs before `demo`, `test`, `bench` and `start`, on whatever Node the system has and with nothing installed:
 * installs the dependencies when they are missing or older than the lockfile. The scripts after it run on the Node
 * that is among them.
 */
const root = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "..");
const lockfile = join(root, "package-lock.json");
const installed = join(root, "node_modules", ".package-lock.json");

if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lockfile).mtimeMs) {
  console.log("Installing the dependencies, once …");
  // Under npm this very npm is used; its path is given by npm itself.
  const npm = process.env.npm_execpath;
  const [command, args] = npm ? [process.execPath, [npm, "ci"]] : ["npm", ["ci"]];
  const { status } = spawnSync(command, args, {
    cwd: root,
    stdio: "inherit",
    shell: !npm && process.platform === "win32",
  });
  if (status !== 0) process.exit(status ?? 1);
}

const node = join(root, "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node");
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (!existsSync(node) && (major < 22 || (major === 22 && minor < 18))) {
  console.error(
    `Node ${process.versions.node} is too old and the Node among the dependencies is missing: install Node 24, or run npm ci without --ignore-scripts.`,
  );
  process.exit(1);
}
