import { existsSync, watch } from "node:fs";
import { dirname } from "node:path";

/** User code that writes this file says with it that it runs. */
export const writesFile = (path: string): string =>
  `process.getBuiltinModule("node:fs").writeFileSync(${JSON.stringify(path)}, "");`;

/** Resolves when the file is there. Its folder is watched, so that nobody guesses how long a thread takes to start. */
export const fileThere = (path: string): Promise<void> =>
  new Promise((resolve) => {
    const watcher = watch(dirname(path), look);
    function look(): void {
      if (!existsSync(path)) return;
      watcher.close();
      resolve();
    }
    look();
  });
