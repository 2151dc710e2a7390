import { existsSync } from "node:fs";
import { join } from "node:path";
import type { WorkerOptions } from "node:worker_threads";
import { userEnv } from "../../model/userEnv.ts";

/**
 * A thread out of memory is ended, with 16 MB above its limit to end in. A default young generation can promote
 * more than that at once, and then V8 ends the whole process; one of 8 MB cannot.
 */
const maxYoungGenerationSizeMb = 8;

/** Options that a thread refuses: what its process runs, and V8's, which all its threads share. */
const ofProcess = /^--(input-type|max-semi-space-size|v8-pool-size)/;

/** How a thread for user code is started, whatever it does there; `memoryMb` is its heap. */
export const threadStart = (memoryMb: number) =>
  ({
    resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb },
    env: userEnv(process.env),
    execArgv: process.execArgv.filter((one) => !ofProcess.test(one)),
  }) satisfies WorkerOptions;

/** The file of a thread's entry: in the bundle `NAME.cjs` lies beside the app, in the source `NAME.ts` in its folder. */
export function threadFile(folder: string, name: string): string {
  const found = [`${name}.cjs`, `${name}.ts`]
    .map((one) => join(folder, one))
    .find((file) => existsSync(file));
  if (found === undefined) throw new Error("the thread's file is missing; run npm run build");
  return found;
}
