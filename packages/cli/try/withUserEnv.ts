import { syncBuiltinESMExports } from "node:module";
import { userEnv } from "../../../src/engine/model/userEnv.ts";

/**
 * Does work in which this process has the environment that user code finds in a thread. `asOurs` does a part of it in the whole
 * environment, in which the library for identities finds a sign-in. Not promised: that user code which runs meanwhile finds less.
 */
export async function withUserEnv(
  work: (asOurs: <T>(run: () => Promise<T>) => Promise<T>) => Promise<void>,
): Promise<void> {
  const ours = process.env;
  const theirs = userEnv(ours);
  const set = (env: NodeJS.ProcessEnv): void => {
    process.env = env;
    // For `import { env } from "node:process"`.
    syncBuiltinESMExports();
  };
  const within = async <T>(env: NodeJS.ProcessEnv, after: NodeJS.ProcessEnv, run: () => Promise<T>) => {
    set(env);
    try {
      return await run();
    } finally {
      set(after);
    }
  };
  await within(theirs, ours, () => work((run) => within(ours, theirs, run)));
}
