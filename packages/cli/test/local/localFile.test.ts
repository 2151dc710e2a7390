import type { ChildProcess } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { failureOf } from "../../../../test/client/clientWorld.ts";
import { localFileOf, standInSupervisor } from "../../../../test/support/standInSupervisor.ts";
import {
  findLocalFile,
  type LocalFile,
  localFilePath,
  readLocalFile,
  removeLocalFile,
  writeLocalFile,
} from "../../local/localFile.ts";
import { startOf } from "../../local/supervisor.ts";

let root: string;
let folder: string;
let env: Record<string, string>;
let supervisor: ChildProcess;

beforeAll(() => {
  supervisor = standInSupervisor();
});
afterAll(() => void supervisor.kill());
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "leasefold-local-"));
  folder = join(root, "work");
  await mkdir(folder);
  env = { XDG_RUNTIME_DIR: join(root, "runtime") };
  await mkdir(join(root, "runtime"), { mode: 0o700 });
});
afterEach(() => rm(root, { recursive: true, force: true }));

const local = (change: Partial<LocalFile> = {}) => localFileOf(supervisor.pid ?? 0, change);
async function written(change: Partial<LocalFile> = {}): Promise<string> {
  const path = await localFilePath(env, folder);
  await writeLocalFile(path, local(change));
  return path;
}

describe("the state of the running instances", () => {
  it("is found from any folder below, also through a link to it, and lies outside of them all", async () => {
    const below = join(folder, "a", "b");
    await mkdir(below, { recursive: true });
    await symlink(folder, join(root, "link"));
    const path = await written();
    for (const from of [folder, below, join(root, "link", "a")])
      expect(await findLocalFile(env, from)).toMatchObject({ kind: "found", path });
    expect(path.startsWith(join(root, "runtime", "leasefold"))).toBe(true);
    expect(await readdir(folder)).toEqual(["a"]);
    expect(await findLocalFile(env, root)).toEqual({ kind: "missing" });
  });

  it("is readable by its owner only, and replaced as a whole", async () => {
    await written();
    const path = await written({ instances: [] });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(path, "utf8")).instances).toEqual([]);
    expect(await readdir(join(root, "runtime", "leasefold"))).toHaveLength(1);
  });

  it("is removed by its writer, and by nobody else", async () => {
    const path = await written();
    await removeLocalFile(path, process.pid);
    expect((await readLocalFile(path)).kind).toBe("found");
    await removeLocalFile(path, supervisor.pid ?? 0);
    expect((await readLocalFile(path)).kind).toBe("missing");
  });

  it("is stale if it is incomplete or from another version", async () => {
    const path = await written();
    for (const text of ['{"v":', '{"v":2}']) {
      await writeFile(path, text);
      expect(await readLocalFile(path)).toEqual({ kind: "stale", path });
    }
  });

  it.each([
    ["a process that is gone", { supervisorPid: 2 ** 22 + 1 }],
    ["a process that is none of Leasefold's", { supervisorPid: process.pid }],
    ["the first process of the machine", { supervisorPid: 1 }],
    ["a time before the machine was started", { startedAt: "2001-01-01T00:00:00.000Z" }],
    ["a time that has not come yet", { startedAt: "2099-01-01T00:00:00.000Z" }],
  ])("is stale when it names %s", async (_what, change) => {
    expect(await readLocalFile(await written(change))).toMatchObject({ kind: "stale" });
  });
});

it("a state is stale when its process id is that of a later process, and one without a start is judged by the rest", async () => {
  const start = startOf(supervisor.pid ?? 0);
  expect(start).toEqual(expect.any(String));
  expect(startOf(2 ** 22 + 1)).toBeUndefined();
  for (const [supervisorStart, kind] of [
    [start, "found"],
    [undefined, "found"],
    [startOf(process.pid), "stale"],
  ] as const)
    expect(await readLocalFile(await written({ supervisorStart }))).toMatchObject({ kind });
});

it("a state that names the start of its process stays found when the clock is set to another time", async () => {
  const supervisorStart = startOf(supervisor.pid ?? 0);
  for (const startedAt of ["2001-01-01T00:00:00.000Z", "2099-01-01T00:00:00.000Z"])
    expect(await readLocalFile(await written({ supervisorStart, startedAt }))).toMatchObject({
      kind: "found",
    });
});

describe("a state that somebody planted", () => {
  it("in a folder of the working tree is ignored", async () => {
    await mkdir(join(folder, ".leasefold"));
    await writeFile(join(folder, ".leasefold", "local.json"), JSON.stringify(local()));
    expect(await findLocalFile(env, folder)).toEqual({ kind: "missing" });
  });

  it.each([
    ["storage", { connectionString: connectionOf("http://10.0.0.1:10000") }],
    [
      "storage of a name like this machine's",
      { connectionString: connectionOf("http://127.0.0.1.evil.example:1") },
    ],
    ["a queue", { connectionString: connectionOf("http://127.0.0.1:1", "https://evil.example:443") }],
    [
      "a proxy",
      { connectionString: "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://evil.example" },
    ],
    [
      "an account of Azure",
      { connectionString: "AccountName=a;AccountKey=Zg==;EndpointSuffix=core.windows.net" },
    ],
    ["an instance", { instances: [{ name: "node-1", httpUrl: "http://evil.example:7071" }] }],
    [
      "an instance behind user information",
      { instances: [{ name: "node-1", httpUrl: "http://127.0.0.1:1@evil" }] },
    ],
  ])("that names %s on another machine is not taken", async (_what, change) => {
    const found = await readLocalFile(await written(change));
    expect(found).toMatchObject({ kind: "stale" });
    expect(found).not.toHaveProperty("local");
  });

  it("as a link, or in a file that others can read or write, is refused with a reason", async () => {
    const path = await written();
    for (const mode of [0o644, 0o660, 0o606]) {
      await chmod(path, mode);
      expect(await failureOf(findLocalFile(env, folder))).toMatchObject({ code: "not-private" });
    }
    const elsewhere = join(root, "elsewhere");
    await writeFile(elsewhere, JSON.stringify(local()), { mode: 0o600 });
    await rm(path);
    await symlink(elsewhere, path);
    expect(await failureOf(findLocalFile(env, folder))).toMatchObject({ code: "not-private" });
  });

  it("as a link is replaced by a new state, and its target stays unchanged", async () => {
    const victim = join(root, "victim");
    await writeFile(victim, "precious");
    const path = await localFilePath(env, folder);
    for (const name of [path, `${path}.${process.pid}`]) await symlink(victim, name);
    await writeLocalFile(path, local());
    expect(await readFile(victim, "utf8")).toBe("precious");
    expect((await readLocalFile(path)).kind).toBe("found");
  });
});

function connectionOf(blob: string, queue = "http://127.0.0.1:10001"): string {
  return `DefaultEndpointsProtocol=http;AccountName=acc;AccountKey=Zg==;BlobEndpoint=${blob}/acc;QueueEndpoint=${queue}/acc`;
}
