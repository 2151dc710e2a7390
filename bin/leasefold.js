#!/usr/bin/env node
// Plain JavaScript for old versions of Node too: it only finds the built program, and a Node that is new enough for it.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../dist/cli.cjs", import.meta.url));
const ownNode = fileURLToPath(new URL("../node_modules/node/bin/node", import.meta.url));
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
// As `engines` says: module hooks, with which instances load the app, came with 22.15, and calculations in TypeScript
// load without a flag from 22.18 on.
const isNewEnough = major >= 24 || (major === 22 && minor >= 18);

if (!existsSync(program)) {
  refuse('it is not built yet: run "npm run build" first');
} else if (isNewEnough) {
  // Every write was waited for; only idle connections would keep the process.
  const { main } = createRequire(import.meta.url)(program);
  process.exit(await main(process.argv.slice(2)));
} else if (existsSync(ownNode)) {
  handOver();
} else {
  refuse(`it needs Node 22 from 22.18 on, or Node 24 or later, and this is ${process.versions.node}`);
}

/** Runs the same command on the Node that is installed beside the project. */
function handOver() {
  const args = [fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  const child = spawn(ownNode, args, { stdio: "inherit" });
  // Ctrl-C reaches both processes; the child decides what it means. Other signals are passed on.
  process.on("SIGINT", () => {});
  for (const name of ["SIGTERM", "SIGHUP"]) process.on(name, () => child.kill(name));
  child.on("error", (error) => refuse(`cannot start ${ownNode}: ${error.message}`));
  child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
}

function refuse(why) {
  process.stderr.write(`leasefold: ${why}\n`);
  process.exit(2);
}
