import { type PoolSettings, poolOf } from "../engine/worker/threads/threadPool.ts";
import { threadFile } from "../engine/worker/threads/threadStart.ts";
import type { UserCode } from "../engine/worker/threads/userCode.ts";

/** Worker threads that know the built-in calculations of `entry` and those of the user's files. A build has one entry. */
export const threadPool = (
  settings: Omit<PoolSettings, "entry">,
  entry = threadFile(import.meta.dirname, "thread"),
): UserCode => poolOf({ ...settings, entry });
