import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  lstat,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startAzurite } from "../../src/tools/local/azurite.ts";
import { freshContainer, freshName, ofKind, realAccount, textOf } from "./accounts.ts";

const folders: string[] = [];
/** The state folder of the user. */
let env: Record<string, string>;
beforeEach(async () => {
  env = { XDG_STATE_HOME: await newFolder() };
});
const startIn = (location: string, more: { readonly adopt?: true } = {}) =>
  startAzurite({ location, env, ...more });

let holder: ChildProcess | undefined;
afterEach(async () => {
  holder?.kill("SIGKILL");
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
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
  const azurite = await startIn(location);
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
    await writeFile(join(location, "notes.txt"), "mine");
    await chmod(join(location, "notes.txt"), 0o644);
    await storeIn(location);
    expect((await openEntries(location)).map((entry) => entry.split(" ")[0])).toEqual(
      expect.arrayContaining(["notes.txt"]),
    );
    expect((await openEntries(location)).filter((entry) => !entry.startsWith("notes"))).toEqual([]);
  },
);

const holdsIt = (location: string, pid: number) => ({
  ...{ name: "InputError", reason: "conflict", code: "already-up" },
  message: `another "leasefold up" (process ${pid}) keeps its storage in ${location} already`,
});

it("a second emulator on one data folder is refused by the process that holds it, and that one continues", async () => {
  const location = await newFolder();
  const first = await startIn(location);
  await expect(startIn(location)).rejects.toMatchObject(holdsIt(location, process.pid));
  const account = realAccount(first.connectionString);
  await account.storage.blobs.create(await freshContainer(account), "b", "kept");
  await first.stop();
  const next = await startIn(location);
  expect(next.connectionString.split(";")[1]).toBe(first.connectionString.split(";")[1]);
  await next.stop();
});

it("of emulators that start at once on a new data folder one holds it, and its account is kept", async () => {
  const location = await newFolder();
  const all = await Promise.allSettled([1, 2, 3].map(() => startIn(location)));
  const [one, ...more] = all.flatMap((start) => (start.status === "fulfilled" ? [start.value] : []));
  const refused = all.flatMap((start) => (start.status === "rejected" ? [start.reason] : []));
  expect(more).toEqual([]);
  expect(refused).toMatchObject([holdsIt(location, process.pid), holdsIt(location, process.pid)]);
  await one?.stop();
  const again = await startIn(location);
  const accountOf = (connection = "") => connection.split(";").slice(1, 3);
  expect(accountOf(again.connectionString)).toEqual(accountOf(one?.connectionString));
  await again.stop();
});

it("a data folder whose holder is killed is free at once, with all that was stored in it", async () => {
  const location = await newFolder();
  await storeIn(location);
  const module = new URL("../../src/tools/local/azurite.ts", import.meta.url).href;
  const script = `
    const { startAzurite } = await import(${JSON.stringify(module)});
    const options = { location: ${JSON.stringify(location)}, env: ${JSON.stringify(env)} };
    console.log((await startAzurite(options)).connectionString);
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
  await expect(startIn(location)).rejects.toMatchObject(holdsIt(location, child.pid ?? 0));
  child.kill("SIGKILL");
  await once(child, "exit");
  const next = await startIn(location);
  const read = await realAccount(next.connectionString).storage.blobs.read(container, "last");
  expect(textOf(ofKind(read, "found").body)).toBe("the last one");
  await next.stop();
});

/**
 * A database at `path` beside a journal that names `victim` as its super-journal, which SQLite deletes when it repairs the
 * database (sqlite.org/fileformat2.html, "The Rollback Journal", and sqlite.org/atomiccommit.html, section 5).
 */
async function plantHotJournal(path: string, victim: string): Promise<void> {
  const database = new DatabaseSync(path);
  database.exec("CREATE TABLE t (a)");
  database.close();
  const [pageBytes, magic, name] = [4096, Buffer.from("d9d505f920a163d7", "hex"), Buffer.from(victim)];
  const header = Buffer.alloc(512);
  magic.copy(header);
  header.writeUInt32BE(1, 12);
  header.writeUInt32BE((await lstat(path)).size / pageBytes, 16);
  header.writeUInt32BE(512, 20);
  header.writeUInt32BE(pageBytes, 24);
  const tail = Buffer.alloc(20 + name.length);
  tail.writeUInt32BE(0x40000000 / pageBytes + 1, 0);
  name.copy(tail, 4);
  tail.writeUInt32BE(name.length, 4 + name.length);
  tail.writeUInt32BE(
    name.reduce((sum, byte) => sum + byte, 0),
    8 + name.length,
  );
  magic.copy(tail, 12 + name.length);
  await writeFile(`${path}-journal`, Buffer.concat([header, tail]));
}

/** What a repository, an archive or another program may have put where a user says `--data data`. */
describe("a data folder that no emulator of this user made", () => {
  const refusal = { name: "InputError", code: "data-not-ours", message: expect.stringContaining("--adopt") };
  const records = "__azurite_db_blob__.json";

  /** A folder with a container and a blob in it, as somebody else's emulator left it. */
  async function foreign(change: (text: string) => string = (text) => text, file = records): Promise<string> {
    const location = await newFolder();
    const azurite = await startAzurite({ location, env: { XDG_STATE_HOME: await newFolder() } });
    const account = realAccount(azurite.connectionString);
    container = await freshContainer(account);
    await account.storage.blobs.create(container, "b", "theirs");
    await azurite.stop();
    const path = join(location, file);
    await writeFile(path, change(await readFile(path, "utf8")));
    return location;
  }
  let container = "";
  const blobIn = async ({ connectionString }: { readonly connectionString: string }) =>
    textOf(ofKind(await realAccount(connectionString).storage.blobs.read(container, "b"), "found").body);

  it("is refused with the way to adopt it, and used under a new key once it is adopted", async () => {
    const location = await foreign();
    await expect(startIn(location)).rejects.toMatchObject(refusal);
    const moved = await startIn(location, { adopt: true });
    expect(await blobIn(moved)).toBe("theirs");
    await moved.stop();
  });

  it("is never used under a key that lies in it", async () => {
    const location = await foreign();
    const planted = { name: "leasefoldplanted", key: Buffer.from("planted").toString("base64") };
    await writeFile(join(location, "leasefold-account.json"), JSON.stringify(planted), { mode: 0o600 });
    const adopted = await startIn(location, { adopt: true });
    expect(adopted.connectionString).toContain("AccountName=leasefoldplanted;");
    expect(adopted.connectionString).not.toContain(planted.key);
    await adopted.stop();
    const again = await startIn(location);
    expect(again.connectionString.split(";")[2]).toBe(adopted.connectionString.split(";")[2]);
    await again.stop();
  });

  it("is told from one of ours by more than its path", async () => {
    const location = join(await newFolder(), "data");
    await storeIn(location);
    await rename(await foreign(), `${location}.other`);
    await rm(location, { recursive: true });
    await rename(`${location}.other`, location);
    await expect(startIn(location)).rejects.toMatchObject(refusal);
  });

  it("that holds no emulator's files is used, and is ours from then on", async () => {
    const location = await newFolder();
    await writeFile(join(location, "notes.txt"), "mine");
    await storeIn(location);
    await storeIn(location);
    expect(await readdir(location)).not.toContain("leasefold-account.json");
  });

  it.skipIf(process.platform === "win32")("is refused for a link, and what it leads to stays", async () => {
    const outside = join(await newFolder(), "mine");
    await writeFile(outside, "mine");
    for (const name of ["leasefold.lock.pid", "leasefold.lock", records]) {
      const location = await newFolder();
      await symlink(outside, join(location, name));
      await expect(startIn(location, { adopt: true })).rejects.toMatchObject({ code: "data-link" });
    }
    const location = await foreign();
    await symlink(outside, join(location, "__blobstorage__", "11111111-1111-1111-1111-111111111111"));
    await expect(startIn(location, { adopt: true })).rejects.toMatchObject({ code: "data-link" });
    const link = join(await newFolder(), "data");
    await symlink(location, link);
    await expect(startIn(link, { adopt: true })).rejects.toMatchObject({ code: "data-link" });
    expect(await readFile(outside, "utf8")).toBe("mine");
    expect((await lstat(outside)).mode & 0o777).toBe(0o644);
  });

  const inJson =
    (change: (collections: Record<string, { data: Record<string, unknown>[] }>) => void) =>
    (text: string) => {
      const database = JSON.parse(text) as {
        collections: { name: string; data: Record<string, unknown>[] }[];
      };
      change(Object.fromEntries(database.collections.map((one) => [one.name, one])));
      return JSON.stringify(database);
    };

  it("is refused where an unreferenced extent leads out of it, and the file there is not deleted", async () => {
    const outside = join(await newFolder(), "mine");
    await writeFile(outside, "mine");
    const planted = inJson(({ $EXTENTS_COLLECTION$ }) => {
      const [first = {}] = $EXTENTS_COLLECTION$?.data ?? [];
      const id = `../../../${outside}`;
      $EXTENTS_COLLECTION$?.data.push({ ...first, id, path: id, lastModifiedInMS: 0, $loki: 99 });
    });
    const location = await foreign(planted, "__azurite_db_blob_extent__.json");
    await expect(startIn(location, { adopt: true })).rejects.toMatchObject({ code: "data-refused" });
    expect(await readFile(outside, "utf8")).toBe("mine");
  });

  it("gives no file outside of it for a blob that names one", async () => {
    const outside = join(await newFolder(), "mine");
    await writeFile(outside, "mine and long enough");
    const location = await foreign(
      inJson(({ $BLOBS_COLLECTION$ }) => {
        for (const blob of $BLOBS_COLLECTION$?.data ?? [])
          blob["persistency"] = { id: `../../../../..${outside}`, offset: 0, count: 6 };
      }),
    );
    const azurite = await startIn(location, { adopt: true });
    await expect(blobIn(azurite)).rejects.toThrow(/no GUID|InternalError|500|busy/i);
    await azurite.stop();
  });

  it("is refused where SQLite would repair the lock, and by a planted journal delete any file", async () => {
    const victim = join(await newFolder(), "mine");
    await writeFile(victim, "mine");
    for (const name of ["leasefold.lock", "leasefold.lock-wal", "leasefold.lock-shm"]) {
      const location = await newFolder();
      await writeFile(join(location, name), "planted");
      await expect(startIn(location, { adopt: true })).rejects.toMatchObject({ code: "data-refused" });
    }
    const location = join(await newFolder(), "data");
    await storeIn(location);
    expect((await lstat(join(location, "leasefold.lock"))).size).toBe(0);
    await plantHotJournal(join(location, "leasefold.lock"), victim);
    // Also where the files came into a folder that is ours.
    for (const more of [{}, { adopt: true }] as const)
      await expect(startIn(location, more)).rejects.toMatchObject({ code: "data-refused" });
    await truncate(join(location, "leasefold.lock"));
    await expect(startIn(location)).rejects.toMatchObject({ code: "data-refused" });
    expect(await readFile(victim, "utf8")).toBe("mine");
  });

  it.skipIf(process.platform === "win32")("is refused while others may write into it", async () => {
    for (const mode of [0o775, 0o757, 0o777]) {
      const location = await newFolder();
      await chmod(location, mode);
      await expect(startIn(location)).rejects.toMatchObject({ code: "data-open" });
      await expect(startIn(location, { adopt: true })).rejects.toMatchObject({ code: "data-open" });
      expect(await readdir(location)).toEqual([]);
    }
  });

  it.each([
    [
      "a container has public access",
      inJson(({ $CONTAINERS_COLLECTION$ }) => {
        for (const { properties } of $CONTAINERS_COLLECTION$?.data ?? [])
          Object.assign(properties as object, { publicAccess: "blob" });
      }),
    ],
    [
      "pages of other origins may read it",
      inJson(({ $SERVICES_COLLECTION$ }) => {
        const cors = [
          {
            allowedOrigins: "*",
            allowedMethods: "GET",
            allowedHeaders: "*",
            exposedHeaders: "*",
            maxAgeInSeconds: 1,
          },
        ];
        $SERVICES_COLLECTION$?.data.push({ accountName: "planted", cors, $loki: 99 });
      }),
    ],
  ])("is refused where %s, also if it is adopted", async (_what, change) => {
    const location = await foreign(change);
    await expect(startIn(location, { adopt: true })).rejects.toMatchObject({ code: "data-refused" });
  });

  it("ends the emulator as a whole when its records end the blob service", async () => {
    const location = await foreign(
      inJson(({ $BLOBS_COLLECTION$ }) => {
        for (const blob of $BLOBS_COLLECTION$?.data ?? []) blob["persistency"] = null;
        $BLOBS_COLLECTION$?.data.push(null as never);
      }),
    );
    const started = await startIn(location, { adopt: true }).catch((error: unknown) => error);
    if (started instanceof Error) return expect(started).toMatchObject({ code: "azurite-start" });
    await (started as Awaited<ReturnType<typeof startIn>>).exited;
  });
});
