import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { ConfigError, messageOf } from "../../engine/model/errors.ts";
import { azuriteSpeed } from "./azuriteSpeed.ts";
import { dataIsLocked, lockData, lockedExitCode } from "./dataLock.ts";
import { connectionStringOf, newAccount, type StorageAccount } from "./storageAccount.ts";

/** A storage emulator in a process of its own. */
export interface Azurite {
  readonly connectionString: string;
  readonly blobPort: number;
  readonly queuePort: number;
  readonly pid: number;
  /** Ends the process and waits for its end; data in a `location` are kept. May be called again. */
  stop(): Promise<void>;
  /** Resolves when the process has ended, for whatever reason. */
  readonly exited: Promise<void>;
  /** Calls back with its queue when a message that was sent or updated can be received. */
  onMessage(listener: (queue: string) => void): void;
}

/**
 * Starts Microsoft's emulator from the installed package, in about a second. It ends with this process, even when that is
 * killed. Without an `account` its name and key are drawn at random, so that neither a web page nor another user of this
 * machine can sign a request. Throws `InputError` where another emulator holds the `location`.
 *
 * Not promised: Azure's behavior in every case; `test/contract/azuriteDifferences.test.ts` lists the differences.
 */
export async function startAzurite(
  options: {
    /** Folder for its data, which belong to the `account`; without one they live in memory. */
    readonly location?: string;
    readonly account?: StorageAccount;
    /** 0 or absent: any free port. The table service starts only where its port is given. */
    readonly ports?: { readonly blob?: number; readonly queue?: number; readonly table?: number };
  } = {},
): Promise<Azurite> {
  const { location, account = newAccount(), ports = {} } = options;
  const flags = [
    ...["--blobPort", `${ports.blob ?? 0}`, "--queuePort", `${ports.queue ?? 0}`],
    ...["--tablePort", `${ports.table ?? 0}`],
    // Our SDKs are newer than the service version the emulator knows.
    ...["--silent", "--disableTelemetry", "--skipApiVersionCheck"],
    // Only the path names the account: a foreign host name must not name one.
    "--disableProductStyleUrl",
    ...(location === undefined ? ["--inMemoryPersistence"] : ["--location", location]),
  ];
  const { manifest, script } = azuritePackage();
  const preload = azuritePreload(manifest, { tables: ports.table !== undefined, location });
  // Node 22 warns of SQLite, which holds the lock of a location.
  const nodeFlags = ["--disable-warning=ExperimentalWarning", "--import", preload];
  const child = spawn(process.execPath, [...nodeFlags, script, ...flags], {
    // Not an argument, which every user of the machine can read.
    env: { ...process.env, AZURITE_ACCOUNTS: `${account.name}:${account.key}` },
    stdio: ["pipe", "pipe", "pipe", "ipc"],
    // Ctrl-C in a terminal reaches a whole process group; this process ends last, when the others have drained.
    detached: process.platform !== "win32",
  });
  const exited = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const stop = async () => {
    child.kill("SIGTERM");
    const killer = setTimeout(() => child.kill("SIGKILL"), stopCapMs);
    await exited;
    clearTimeout(killer);
  };
  try {
    const { blob: blobPort, queue: queuePort } = await listeningPorts(child);
    const connectionString = connectionStringOf(account, blobPort, queuePort);
    const onMessage: Azurite["onMessage"] = (listener) => {
      child.on("message", (sent: { readonly queue: string }) => listener(sent.queue));
    };
    return { connectionString, blobPort, queuePort, pid: child.pid ?? 0, stop, exited, onMessage };
  } catch (error) {
    await stop();
    if (location !== undefined && child.exitCode === lockedExitCode) throw dataIsLocked(location);
    throw error;
  }
}

const startCapMs = 30_000;
const stopCapMs = 5_000;

function azuritePackage(): { readonly manifest: string; readonly script: string } {
  try {
    const manifest = createRequire(join(import.meta.dirname, "any.js")).resolve("azurite/package.json");
    const { bin } = JSON.parse(readFileSync(manifest, "utf8")) as { bin: { azurite: string } };
    return { manifest, script: join(dirname(manifest), bin.azurite) };
  } catch (error) {
    const text = "the storage emulator is missing: install it with npm install --save-dev azurite@3";
    throw new ConfigError("azurite-missing", text, { cause: error });
  }
}

/** Waits for the two lines that name its ports. Throws `ConfigError` with what it printed when they do not come. */
function listeningPorts(child: ChildProcess): Promise<{ blob: number; queue: number }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ blob: number; queue: number }>();
  let printed = "";
  const fail = (why: string): void => {
    const text = `the storage emulator did not start: ${why}. ${printed.trim()}`;
    reject(new ConfigError("azurite-start", text));
  };
  const read = (data: Buffer): void => {
    printed = `${printed}${data.toString("utf8")}`.slice(-4000);
    const [blob, queue] = ["Blob", "Queue"].map((service) => {
      const line = new RegExp(`${service} service is successfully listening at \\S+:(\\d+)`).exec(printed);
      return Number(line?.[1] ?? 0);
    });
    if (blob && queue) resolve({ blob, queue });
  };
  // Reading goes on after the start: a full pipe would stop the emulator.
  child.stdout?.on("data", read);
  child.stderr?.on("data", read);
  child.once("exit", (code) => fail(`it ended with code ${code}`));
  child.once("error", (error) => fail(messageOf(error)));
  const timer = setTimeout(() => fail(`it was not ready after ${startCapMs} ms`), startCapMs).unref();
  return promise.finally(() => clearTimeout(timer));
}

/**
 * Code that the emulator's process loads before its own. Its standard input is a pipe that nobody writes to and that
 * closes when the process that started it has ended, for whatever reason. The pipe must not keep the emulator alive: after
 * SIGTERM that ends when nothing is left to do. Its last lines have no reader then, and must not end it before it has
 * stored its records.
 */
const endWithParent = `
for (const output of [process.stdout, process.stderr]) output.on("error", () => {});
process.stdin.on("close", () => process.kill(process.pid, "SIGTERM")).on("error", () => {}).resume().unref();
`;

/**
 * The emulator listens for a message that asks it to end, which nobody sends it. The channel would keep it alive after
 * SIGTERM, until it is killed.
 */
const endWithoutChannel = `
process.channel?.unref();
`;

/** The emulator's files hold inputs and results, so nobody else on the machine may read them. */
const privateFiles = `
process.umask(0o077);
`;

/**
 * The emulator has no option to start without its table service, which nothing here needs. The service counts as running,
 * because its `close` then stops a timer that would keep the process alive.
 */
const noTables = (azuriteManifest: string): string => `
import { createRequire as requireFrom } from "node:module";
const { default: TableServer } = requireFrom(${JSON.stringify(azuriteManifest)})("./dist/src/table/TableServer");
TableServer.prototype.start = async function () { this.status = "Running"; };
`;

/**
 * Tells the process that started the emulator when messages that were sent or updated can be received, so that instances
 * need not wait for their next poll: of the first at once, and of those in the 20 ms after it together. Instances that
 * are busy with a long queue would otherwise hear of each of its messages.
 */
const tellOfMessages = `
import { Server } from "node:http";
const { emit } = Server.prototype;
const told = new Map();
const tell = (queue) => {
  if (told.has(queue)) return told.set(queue, true);
  told.set(queue, false);
  if (process.connected) process.send({ queue }, () => {});
  setTimeout(() => {
    const more = told.get(queue);
    told.delete(queue);
    if (more) tell(queue);
  }, 20).unref();
};
Server.prototype.emit = function (event, request, response) {
  const sent = event === "request" && /^(POST |PUT .*popreceipt=)/.test(request.method + " " + request.url);
  const queue = sent && /^\\/[^/]+\\/([^/]+)\\/messages\\b/.exec(request.url)?.[1];
  if (queue) {
    const hiddenMs = 1000 * Number(new URL(request.url, "http://x").searchParams.get("visibilitytimeout"));
    response.once("finish", () => {
      if (response.statusCode >= 300) return;
      if (hiddenMs > 0) setTimeout(tell, hiddenMs, queue).unref();
      else tell(queue);
    });
  }
  return emit.apply(this, arguments);
};
`;

/** All of it as a module for `node --import`. */
export function azuritePreload(
  azuriteManifest: string,
  { tables, location }: { readonly tables: boolean; readonly location: string | undefined },
): string {
  const lock = location === undefined ? "" : lockData(location);
  const speed = azuriteSpeed(azuriteManifest);
  const noTable = tables ? "" : noTables(azuriteManifest);
  const code = `${privateFiles}${lock}${speed}${noTable}${tellOfMessages}${endWithParent}${endWithoutChannel}`;
  return `data:text/javascript,${encodeURIComponent(code)}`;
}
