import { chmod, lstat, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { startAzurite } from "../../src/local/azurite.ts";
import { freshContainer, realAccount } from "./accounts.ts";

const folders: string[] = [];
afterEach(async () => {
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
