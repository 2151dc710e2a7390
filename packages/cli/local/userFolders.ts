import { lstat } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { ConfigError } from "../../../src/engine/model/errors.ts";
import { makeFolder } from "./makeFolder.ts";
import { isPrivate, ownUid } from "./privateFile.ts";

export type Env = Readonly<Record<string, string | undefined>>;

/**
 * The user's private folder for the state of running instances; creates it where it is missing. It lies outside of every
 * working tree, so that files that were cloned, unpacked or left in a shared folder cannot pass for running instances.
 * Throws `ConfigError` for a link, another user's folder, or one that others can enter.
 */
export async function runtimeFolder(env: Env, platform = process.platform): Promise<string> {
  const session = env["XDG_RUNTIME_DIR"];
  if (session && isAbsolute(session) && (await isPrivateFolder(session)))
    return await privateFolder(join(session, "leasefold"));
  return await lastingFolder(env, platform);
}

/** The same, but kept when the session ends, where the system has such a folder. `LEASEFOLD_STATE_DIR` names another one. */
export async function lastingFolder(env: Env, platform = process.platform): Promise<string> {
  const given = env["LEASEFOLD_STATE_DIR"];
  if (given) {
    if (!isAbsolute(given)) throw refused(`LEASEFOLD_STATE_DIR: ${given}`, "is not an absolute path");
    return await privateFolder(given);
  }
  const usual = join(stateFolder(env, platform), "leasefold");
  const isThere = await makeFolder(usual, 0o700).then(
    () => true,
    ({ code }: NodeJS.ErrnoException) => code === "EEXIST",
  );
  // In a container the home folder may be read-only.
  return await privateFolder(isThere ? usual : join(tmpdir(), `leasefold-${ownUid ?? "user"}`));
}

/** Where a user's programs keep state: XDG Base Directory Specification on Linux, else the convention of the system. */
function stateFolder(env: Env, platform: NodeJS.Platform): string {
  const home = env["HOME"] || homedir();
  if (platform === "win32") return env["LOCALAPPDATA"] || join(home, "AppData", "Local");
  if (platform === "darwin") return join(home, "Library", "Application Support");
  return env["XDG_STATE_HOME"] || join(home, ".local", "state");
}

/** Makes the folder where it is missing. Throws `ConfigError` unless it is this user's alone. */
export async function privateFolder(path: string): Promise<string> {
  await makeFolder(path, 0o700).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw refused(path, `cannot be made (${error.code})`);
  });
  if (await isPrivateFolder(path)) return path;
  throw refused(path, "is not a folder that only you can enter");
}

/** Never through a link: its owner would choose the folder. */
async function isPrivateFolder(path: string): Promise<boolean> {
  const stats = await lstat(path).catch(() => undefined);
  return stats?.isDirectory() === true && isPrivate(stats);
}

const refused = (path: string, why: string): ConfigError =>
  new ConfigError(
    "runtime-folder",
    `${path} ${why}: it holds keys and data; name another one, or make it yours with mode 0700`,
  );
