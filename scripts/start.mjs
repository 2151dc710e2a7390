import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { createConnection } from "node:net";
import { delimiter, join } from "node:path";
import { byNpx, coreTools, coreToolsCommand } from "./coreTools.mjs";
import { runGroup } from "./runGroup.mjs";

/**
 * `npm start`: the app under the real Functions host. Builds, makes local.settings.json from the sample, starts
 * Azurite on its default ports unless something listens there, makes the queues, and runs `func start`, whose exit code it passes on.
 */
const root = join(import.meta.dirname, "..");
const env = { ...process.env, PATH: [join(root, "node_modules", ".bin"), process.env.PATH].join(delimiter) };
// In a container it would make the host take itself for one of Linux Consumption.
delete env.CONTAINER_NAME;
const ports = { blob: 10_000, queue: 10_001, table: 10_002 };

const [command, ...first] = coreToolsCommand(root, process.env.PATH ?? "", canFetch) ?? [];
if (command === undefined) {
  refuse(
    `Azure Functions Core Tools are missing and cannot be fetched: install them with "npm install --no-save ${coreTools}", or run "npm run demo" or "node bin/leasefold.js up", which need nothing more.`,
  );
}
if (spawnSync(process.execPath, [join(root, "scripts", "build.mjs")], { stdio: "inherit" }).status !== 0) {
  process.exit(1);
}
const settings = join(root, "local.settings.json");
if (!existsSync(settings)) {
  copyFileSync(join(root, "local.settings.sample.json"), settings);
  console.log("made local.settings.json from local.settings.sample.json");
}

const { Values = {}, Host = {} } = JSON.parse(readFileSync(settings, "utf8"));
const connection = Values.DataStorage ?? "UseDevelopmentStorage=true";
const namespace = Values.LEASEFOLD_NAMESPACE ?? "leasefold";

const azurite = await startStorage();
await makeQueues();
void tellWhenReady();
const isShell = command.endsWith(".cmd") || (command === "npx" && process.platform === "win32");
const exitCode = await runGroup(command, [...first, "start"], { cwd: root, env, shell: isShell });
await azurite?.stop();
process.exit(exitCode);

/** Queues that the triggers poll: for each that is missing the host prints ten lines, at every poll. */
async function makeQueues() {
  const { connectStorage } = await import("../src/azure/connectStorage.ts");
  const { namesOf, queuesOf } = await import("../src/engine/model/names.ts");
  try {
    const { queues } = connectStorage({ connectionString: connection });
    for (const name of queuesOf(namesOf(namespace))) await queues.ensureQueue(name);
  } catch (error) {
    console.error(`the queues were not made: ${error.message}`);
  }
}

/** How to use the app, once the host answers: at its start it prints pages. */
async function tellWhenReady() {
  const base = `http://localhost:${Host.LocalHttpPort ?? 7071}/api`;
  const answers = () =>
    fetch(`${base}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await answers())) await new Promise((resolve) => setTimeout(resolve, 1_000).unref());
  const where = namespace === "leasefold" ? "" : ` --namespace ${namespace}`;
  console.log(`
the dashboard: ${base}/ui
to submit a run from another terminal:
  node bin/leasefold.js submit primes --to 1e9 --wait${where} --connection ${quoted(connection)}
`);
}

function quoted(text) {
  return /^[\w=.-]+$/.test(text) ? text : JSON.stringify(text);
}

/** The storage that local.settings.json means. One that runs already is used, and left running. */
async function startStorage() {
  const taken = await Promise.all(Object.values(ports).map(listens));
  if (taken[0] && taken[1]) {
    console.log(`using the storage that listens on ports ${ports.blob} and ${ports.queue}`);
    return undefined;
  }
  const inTheWay = Object.values(ports).filter((_port, index) => taken[index]);
  if (inTheWay.length > 0) {
    refuse(`Azurite cannot start: something else listens on port ${inTheWay.join(" and ")}; end it first.`);
  }
  const { startAzurite } = await import("../packages/cli/local/azurite.ts");
  const { publishedAccount } = await import("../packages/cli/local/storageAccount.ts");
  try {
    // What UseDevelopmentStorage=true in local.settings.json means.
    const started = await startAzurite({ ports, account: publishedAccount });
    console.log(`started Azurite on ports ${Object.values(ports).join(", ")}, in memory`);
    return started;
  } catch (error) {
    return refuse(error.message);
  }
}

/** Whether npx gets the Core Tools: they need the npm registry and, for the host itself, Microsoft's servers. */
function canFetch() {
  const [npx, ...args] = byNpx;
  console.log(`Azure Functions Core Tools are not installed; trying ${byNpx.join(" ")}`);
  const shell = process.platform === "win32";
  const { status } = spawnSync(npx, [...args, "--version"], { cwd: root, env, stdio: "inherit", shell });
  return status === 0;
}

function listens(port) {
  return new Promise((resolve) => {
    const socket = createConnection({ host: "127.0.0.1", port });
    const answer = (yes) => {
      socket.destroy();
      resolve(yes);
    };
    socket.once("connect", () => answer(true));
    socket.once("error", () => answer(false));
  });
}

function refuse(why) {
  console.error(why);
  process.exit(1);
}
