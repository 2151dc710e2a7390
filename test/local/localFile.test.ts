import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  findLocalFile,
  type LocalFile,
  readLocalFile,
  removeLocalFile,
  writeLocalFile,
} from "../../src/local/localFile.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-local-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const local = (): LocalFile => ({
  v: 1,
  connectionString: "UseDevelopmentStorage=true",
  supervisorPid: process.pid,
  instances: [{ name: "one", pid: process.pid, httpUrl: "http://127.0.0.1:7071" }],
  startedAt: new Date().toISOString(),
});

describe("the file of the running instances", () => {
  it("is found from any folder below", async () => {
    const below = join(folder, "a", "b");
    await mkdir(below, { recursive: true });
    const written = local();
    const path = await writeLocalFile(folder, written);
    expect(path).toBe(join(folder, ".leasefold", "local.json"));
    expect(await findLocalFile(below)).toEqual({ kind: "found", path, local: written });
  });

  it("is readable by its owner only", async () => {
    const path = await writeLocalFile(folder, local());
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("is replaced as a whole by the next start", async () => {
    await writeLocalFile(folder, local());
    const path = await writeLocalFile(folder, { ...local(), instances: [] });
    expect(JSON.parse(await readFile(path, "utf8")).instances).toEqual([]);
  });

  it("is missing where nothing was started", async () => {
    expect(await readLocalFile(folder)).toEqual({ kind: "missing" });
  });

  it("is stale when its supervisor does not run any more", async () => {
    await writeLocalFile(folder, { ...local(), supervisorPid: 2 ** 22 + 1 });
    expect(await findLocalFile(folder)).toMatchObject({ kind: "stale" });
  });

  it("is stale when the machine was started after it, though some process has that id again", async () => {
    await writeLocalFile(folder, { ...local(), startedAt: "2001-01-01T00:00:00.000Z" });
    expect(await findLocalFile(folder)).toMatchObject({ kind: "stale" });
  });

  it("is stale when it is half or from another version", async () => {
    const path = await writeLocalFile(folder, local());
    await writeFile(path, '{"v":');
    expect(await readLocalFile(folder)).toEqual({ kind: "stale", path });
    await writeFile(path, '{"v":2}');
    expect(await readLocalFile(folder)).toEqual({ kind: "stale", path });
  });

  it("is removed by the one who wrote it, and by nobody else", async () => {
    await writeLocalFile(folder, local());
    await removeLocalFile(folder, process.pid + 1);
    expect((await readLocalFile(folder)).kind).toBe("found");
    await removeLocalFile(folder, process.pid);
    expect((await readLocalFile(folder)).kind).toBe("missing");
  });
});
