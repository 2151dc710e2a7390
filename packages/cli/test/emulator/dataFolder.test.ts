import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import {
  freshContainer,
  freshName,
  ofKind,
  realAccount,
  textOf,
} from "../../../../test/contract/accounts.ts";
import { startAzurite } from "../../local/azurite.ts";
import { dataFolder, openData } from "../../local/dataFolder.ts";

/** The state folder of the user. */
let env: Record<string, string>;
beforeEach(async () => {
  env = { XDG_STATE_HOME: await mkdtemp(join(tmpdir(), "data-")) };
});
const start = async () => startAzurite(await openData("kept", env));

let holder: ChildProcess | undefined;
afterEach(async () => {
  holder?.kill("SIGKILL");
  await rm(env["XDG_STATE_HOME"] ?? "", { recursive: true });
});

/** What lies in the folder, or below it, and can be read by others. */
async function openEntries(folder: string): Promise<string[]> {
  const open: string[] = [];
  for (const name of await readdir(folder, { recursive: true })) {
    const { mode } = await lstat(join(folder, name));
    if ((mode & 0o077) !== 0) open.push(`${name} ${(mode & 0o777).toString(8)}`);
  }
  return open;
}

it.skipIf(process.platform === "win32")(
  "kept data are their owner's alone, and so are their folders",
  async () => {
    const azurite = await start();
    const account = realAccount(azurite.connectionString);
    await account.storage.blobs.create(await freshContainer(account), "b", "private");
    await azurite.stop();
    expect((await readdir(join(await dataFolder(env), "kept"))).length).toBeGreaterThan(2);
    expect(await openEntries(env["XDG_STATE_HOME"] ?? "")).toEqual([]);
  },
);

const holdsIt = (location: string, pid: number) => ({
  ...{ name: "InputError", reason: "conflict", code: "already-up" },
  message: `another "leasefold up" (process ${pid}) keeps its storage in ${location} already`,
});

it("a second emulator on one data folder is refused by the process that holds it, and that one continues", async () => {
  const { location } = await openData("kept", env);
  const first = await start();
  await expect(start()).rejects.toMatchObject(holdsIt(location, process.pid));
  const account = realAccount(first.connectionString);
  await account.storage.blobs.create(await freshContainer(account), "b", "kept");
  await first.stop();
  const next = await start();
  expect(next.connectionString.split(";")[1]).toBe(first.connectionString.split(";")[1]);
  await next.stop();
});

it("of emulators that start at once on a new name one holds the data, and their account is kept", async () => {
  const all = await Promise.allSettled([1, 2, 3].map(() => start()));
  const [one, ...more] = all.flatMap((start) => (start.status === "fulfilled" ? [start.value] : []));
  const refused = all.flatMap((start) => (start.status === "rejected" ? [start.reason] : []));
  expect(more).toEqual([]);
  const { location } = await openData("kept", env);
  expect(refused).toMatchObject([holdsIt(location, process.pid), holdsIt(location, process.pid)]);
  await one?.stop();
  const again = await start();
  const accountOf = (connection = "") => connection.split(";").slice(1, 3);
  expect(accountOf(again.connectionString)).toEqual(accountOf(one?.connectionString));
  await again.stop();
});

it("a data folder whose holder is killed is free at once, with all that was stored in it", async () => {
  const { location } = await openData("kept", env);
  const module = new URL("../../local/azurite.ts", import.meta.url).href;
  const script = `
    const { startAzurite } = await import(${JSON.stringify(module)});
    console.log((await startAzurite(${JSON.stringify(await openData("kept", env))})).connectionString);
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  holder = child;
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const { storage } = realAccount(line.toString().trim());
  const container = freshName();
  await storage.blobs.ensureContainer(container);
  await storage.blobs.create(container, "last", "the last one");
  await expect(start()).rejects.toMatchObject(holdsIt(location, child.pid ?? 0));
  child.kill("SIGKILL");
  await once(child, "exit");
  const next = await start();
  const read = await realAccount(next.connectionString).storage.blobs.read(container, "last");
  expect(textOf(ofKind(read, "found").body)).toBe("the last one");
  await next.stop();
});
