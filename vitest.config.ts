import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

const project = (name: string, include: string[], more: object = {}) => ({
  test: {
    ...{ name, include, environment: "node" },
    // Users' files that tests write are loaded by Node itself, as in production.
    server: { deps: { external: [/\/leasefold-test-[^/]+\//] } },
    ...more,
  },
});

/** After all others: these wait for real leases and processes, so that one file more than there are cores can run. */
const waiting = { sequence: { groupOrder: 1 }, maxWorkers: availableParallelism() + 1 };

export default defineConfig({
  test: {
    // The runner itself has little to do, so no core is kept free for it.
    maxWorkers: availableParallelism(),
    reporters: ["default", "./test/countingReporter.ts"],
    // Compiled code is kept for the next of the many processes that tests start: the program, instances, Azurite.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/leasefold-tests") },
    projects: [
      project("unit", [
        "test/{dashboard,model,storage,election,calculations,coordinator,worker,client,api,functions,cli,local,infra,rules}/**/*.test.ts",
      ], { testTimeout: 30_000 }),
      project("sim", ["test/sim/**/*.test.ts"], { testTimeout: 60_000 }),
      project("contract", ["test/contract/**/*.test.ts"], {
        ...{ testTimeout: 30_000, hookTimeout: 30_000 },
        ...waiting,
      }),
      project("browser", ["test/browser/**/*.test.ts"], {
        ...{ testTimeout: 60_000, hookTimeout: 60_000, globalSetup: "test/browser/setUp.ts" },
        ...waiting,
      }),
      project("e2e", ["test/e2e/**/*.test.ts", "test/chaos/**/*.test.ts"], {
        testTimeout: 120_000,
        hookTimeout: 60_000,
        ...waiting,
      }),
    ],
  },
});
