import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { ConfigError, messageOf } from "../../../src/engine/model/errors.ts";
import { dataIsLocked, lockedExitCode } from "./dataLock.ts";
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
    ...(ports.table === undefined ? [] : ["--tablePort", `${ports.table}`]),
    // Our SDKs are newer than the service version the emulator knows.
    ...["--silent", "--disableTelemetry", "--skipApiVersionCheck"],
    // Only the path names the account: a foreign host name must not name one.
    "--disableProductStyleUrl",
    ...(location === undefined ? ["--inMemoryPersistence"] : ["--location", location]),
  ];
  const script = azuriteScript();
  const preload = pathToFileURL(processFile()).href;
  // Node 22 warns of SQLite, which holds the lock of a location.
  const nodeFlags = ["--disable-warning=ExperimentalWarning", "--import", preload];
  const child = spawn(process.execPath, [...nodeFlags, script, ...flags], {
    // The account is no argument, which every user of the machine can read. A SQL server would be used if one were named.
    env: { ...process.env, AZURITE_ACCOUNTS: `${account.name}:${account.key}`, AZURITE_DB: undefined },
    stdio: ["pipe", "pipe", "pipe"],
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
    return { connectionString, blobPort, queuePort, pid: child.pid ?? 0, stop, exited };
  } catch (error) {
    await stop();
    if (location !== undefined && child.exitCode === lockedExitCode) throw dataIsLocked(location);
    throw error;
  }
}

const startCapMs = 60_000;
const stopCapMs = 5_000;

/** In the bundle, or in this folder. */
const processFile = (): string => {
  const [built = "", source = ""] = ["cjs", "ts"].map((end) =>
    join(import.meta.dirname, `azuriteProcess.${end}`),
  );
  return existsSync(built) ? built : source;
};

function azuriteScript(): string {
  try {
    const manifest = createRequire(join(import.meta.dirname, "any.js")).resolve("azurite/package.json");
    const { bin } = JSON.parse(readFileSync(manifest, "utf8")) as { bin: { azurite: string } };
    return join(dirname(manifest), bin.azurite);
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
