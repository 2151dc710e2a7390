import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, lstat, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { startAzurite } from "../../src/local/azurite.ts";
import { freshContainer, freshName, ofKind, realAccount, textOf } from "./accounts.ts";

const folders: string[] = [];
let holder: ChildProcess | undefined;
afterEach(async () => {
  holder?.kill("SIGKILL");
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "data-"));
  folders.push(folder);
  return folder;
}

/** What lies in the folder, or below it, and can be read by others. */
async function openEntries(folder: string): Promise<string[]> {
  const open: string[] = [];
  for (const name of await readdir(folder, { recursive: true })) {
    const { mode } = await lstat(join(folder, name));
    if ((mode & 0o077) !== 0) open.push(`${name} ${(mode & 0o777).toString(8)}`);
  }
  return open;
}

async function storeIn(location: string): Promise<void> {
  const azurite = await startAzurite({ location });
  const account = realAccount(azurite.connectionString);
  await account.storage.blobs.create(await freshContainer(account), "b", "private");
  await azurite.stop();
}

it.skipIf(process.platform === "win32")(
  "the files of a data folder, and a folder that is made for them, are their owner's alone",
  async () => {
    const location = join(await newFolder(), "data");
    await storeIn(location);
    expect((await lstat(location)).mode & 0o777).toBe(0o700);
    expect((await readdir(location)).length).toBeGreaterThan(2);
    expect(await openEntries(location)).toEqual([]);
  },
);

it.skipIf(process.platform === "win32")(
  "data that an earlier version left open are closed at the next start, and nothing else is touched",
  async () => {
    const location = await newFolder();
    await storeIn(location);
    for (const name of await readdir(location)) {
      const { mode } = await lstat(join(location, name));
      if (name.startsWith("__")) await chmod(join(location, name), mode | 0o055);
    }
    const outside = join(await newFolder(), "mine");
    await writeFile(outside, "mine");
    await chmod(outside, 0o644);
    await symlink(outside, join(location, "__azurite_planted__"));
    await writeFile(join(location, "notes.txt"), "mine");
    await chmod(join(location, "notes.txt"), 0o644);
    await storeIn(location);
    expect((await openEntries(location)).map((entry) => entry.split(" ")[0])).toEqual(
      expect.arrayContaining(["notes.txt"]),
    );
    expect(
      (await openEntries(location)).filter((entry) => !/^(notes|__azurite_planted)/.test(entry)),
    ).toEqual([]);
    expect((await lstat(outside)).mode & 0o777).toBe(0o644);
  },
);

const holdsIt = (location: string, pid: number) => ({
  ...{ name: "InputError", reason: "conflict", code: "already-up" },
  message: `another "leasefold up" (process ${pid}) keeps its storage in ${location} already`,
});

it("a second emulator on one data folder is refused by the process that holds it, and that one continues", async () => {
  const location = await newFolder();
  const first = await startAzurite({ location });
  await expect(startAzurite({ location })).rejects.toMatchObject(holdsIt(location, process.pid));
  const account = realAccount(first.connectionString);
  await account.storage.blobs.create(await freshContainer(account), "b", "kept");
  await first.stop();
  const next = await startAzurite({ location });
  expect(next.connectionString.split(";")[1]).toBe(first.connectionString.split(";")[1]);
  await next.stop();
});

it("of emulators that start at once on a new data folder one holds it, and its account is kept", async () => {
  const location = await newFolder();
  const all = await Promise.allSettled([1, 2, 3].map(() => startAzurite({ location })));
  const [one, ...more] = all.flatMap((start) => (start.status === "fulfilled" ? [start.value] : []));
  const refused = all.flatMap((start) => (start.status === "rejected" ? [start.reason] : []));
  expect(more).toEqual([]);
  expect(refused).toMatchObject([holdsIt(location, process.pid), holdsIt(location, process.pid)]);
  const kept = JSON.parse(await readFile(join(location, "leasefold-account.json"), "utf8"));
  expect(one?.connectionString).toContain(`AccountKey=${kept.key};`);
  await one?.stop();
});

it("a data folder whose holder is killed is free at once, with all that was stored in it", async () => {
  const location = await newFolder();
  await storeIn(location);
  const module = new URL("../../src/local/azurite.ts", import.meta.url).href;
  const script = `
    const { startAzurite } = await import(${JSON.stringify(module)});
    console.log((await startAzurite({ location: ${JSON.stringify(location)} })).connectionString);
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
  await expect(startAzurite({ location })).rejects.toMatchObject(holdsIt(location, child.pid ?? 0));
  child.kill("SIGKILL");
  await once(child, "exit");
  const next = await startAzurite({ location });
  const read = await realAccount(next.connectionString).storage.blobs.read(container, "last");
  expect(textOf(ofKind(read, "found").body)).toBe("the last one");
  await next.stop();
});
