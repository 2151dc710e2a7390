import { chmod, chown, lstat, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { failureOf } from "../../../../test/client/clientWorld.ts";
import { isPrivate } from "../../local/privateFile.ts";
import { runtimeFolder } from "../../local/userFolders.ts";

let root: string;
let session: string;
let env: Record<string, string>;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "leasefold-runtime-"));
  session = join(root, "session");
  await mkdir(session, { mode: 0o700 });
  env = { XDG_RUNTIME_DIR: session, HOME: join(root, "home") };
});
afterEach(() => rm(root, { recursive: true, force: true }));

const inHome = () => join(root, "home", ".local", "state", "leasefold");

describe("the user's runtime folder", () => {
  it("is created in the session folder, for its owner only", async () => {
    expect(await runtimeFolder(env, "linux")).toBe(join(session, "leasefold"));
    expect((await lstat(join(session, "leasefold"))).mode & 0o777).toBe(0o700);
    expect(await runtimeFolder(env, "linux")).toBe(join(session, "leasefold"));
  });

  it("lies under the home folder without such a session, by the convention of the system", async () => {
    const home = { HOME: join(root, "home") };
    expect(await runtimeFolder(home, "linux")).toBe(inHome());
    expect((await lstat(inHome())).mode & 0o777).toBe(0o700);
    const apple = join(root, "home", "Library", "Application Support", "leasefold");
    expect(await runtimeFolder(home, "darwin")).toBe(apple);
    const windows = { LOCALAPPDATA: join(root, "AppData") };
    expect(await runtimeFolder(windows, "win32")).toBe(join(root, "AppData", "leasefold"));
  });

  it("lies where LEASEFOLD_STATE_DIR says without such a session, if that is absolute and private", async () => {
    const path = join(root, "disk", "leasefold");
    expect(await runtimeFolder({ LEASEFOLD_STATE_DIR: path }, "linux")).toBe(path);
    expect((await lstat(path)).mode & 0o777).toBe(0o700);
    for (const wrong of ["disk", join(root, "disk", "open")]) {
      await mkdir(join(root, "disk", "open"), { recursive: true });
      await chmod(join(root, "disk", "open"), 0o755);
      const failure = failureOf(runtimeFolder({ LEASEFOLD_STATE_DIR: wrong }, "linux"));
      expect(await failure).toMatchObject({ code: "runtime-folder" });
    }
  });

  it("is not in a session folder that others can enter, that is a link or that is named in part", async () => {
    await chmod(session, 0o755);
    expect(await runtimeFolder(env, "linux")).toBe(inHome());
    await chmod(session, 0o700);
    await symlink(session, join(root, "link"));
    expect(await runtimeFolder({ ...env, XDG_RUNTIME_DIR: join(root, "link") }, "linux")).toBe(inHome());
    expect(await runtimeFolder({ ...env, XDG_RUNTIME_DIR: "." }, "linux")).toBe(inHome());
  });

  it.runIf(process.getuid?.() === 0)("is not in the session folder of another user", async () => {
    await chown(session, 12_345, 12_345);
    expect(await runtimeFolder(env, "linux")).toBe(inHome());
  });

  it("is refused with a reason if its name is a link, a file, or a folder that others can enter", async () => {
    const path = join(session, "leasefold");
    await mkdir(join(root, "planted"), { mode: 0o700 });
    await symlink(join(root, "planted"), path);
    expect(await failureOf(runtimeFolder(env, "linux"))).toMatchObject({ code: "runtime-folder" });
    await rm(path);
    await writeFile(path, "");
    expect(await failureOf(runtimeFolder(env, "linux"))).toMatchObject({ code: "runtime-folder" });
    await rm(path);
    await mkdir(path);
    await chmod(path, 0o770);
    expect(await failureOf(runtimeFolder(env, "linux"))).toMatchObject({ code: "runtime-folder" });
  });

  it("is private only if it belongs to this user and gives nobody else any right", () => {
    expect(isPrivate({ uid: 7, mode: 0o40700 }, 7)).toBe(true);
    expect(isPrivate({ uid: 8, mode: 0o40700 }, 7)).toBe(false);
    for (const mode of [0o40710, 0o40701, 0o40750, 0o40777])
      expect(isPrivate({ uid: 7, mode }, 7)).toBe(false);
  });
});
