import { type PoolSettings, poolOf } from "../engine/worker/threads/threadPool.ts";
import { threadFile } from "../engine/worker/threads/threadStart.ts";
import type { UserCode } from "../engine/worker/threads/userCode.ts";

/** Worker threads that know the built-in calculations and those of the user's files. */
export const threadPool = (settings: Omit<PoolSettings, "entry">): UserCode =>
  poolOf({ ...settings, entry: threadFile(import.meta.dirname, "thread") });
