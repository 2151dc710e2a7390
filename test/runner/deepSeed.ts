import { execFileSync } from "node:child_process";

/**
 * The seed of `npm run test:deep`, for everything in it that is drawn. It derives from the commit, so that one commit gives one
 * verdict; `LEASEFOLD_SEED` gives another. Without it, as in `npm test`, tests play what is fixed. Outside of a clone it is 1.
 */
export const deepSeed = { LEASEFOLD_SEED: process.env["LEASEFOLD_SEED"] || String(seedOfCommit()) };

function seedOfCommit(): number {
  try {
    const found = execFileSync("git", ["rev-parse", "HEAD"], {
      ...{ cwd: import.meta.dirname, encoding: "utf8" as const },
      stdio: ["ignore", "pipe", "ignore"],
    });
    return Number.parseInt(found.slice(0, 7), 16);
  } catch {
    return 1;
  }
}
