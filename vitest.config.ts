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

export default defineConfig({
  test: {
    // Much of what the contract suites do is to wait for leases, so one core is not kept free for the runner.
    maxWorkers: availableParallelism(),
    reporters: ["default", "./test/countingReporter.ts"],
    // Compiled code is kept for the next of the many processes that tests start: the program, instances, Azurite.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/leasefold-tests") },
    projects: [
      project("unit", [
        "test/{model,storage,election,calculations,coordinator,worker,client,functions,cli,local,infra,rules}/**/*.test.ts",
      ], { testTimeout: 30_000 }),
      project("sim", ["test/sim/**/*.test.ts"], { testTimeout: 60_000 }),
      project("contract", ["test/contract/**/*.test.ts"], { testTimeout: 30_000, hookTimeout: 30_000 }),
      project("e2e", ["test/e2e/**/*.test.ts", "test/chaos/**/*.test.ts"], {
        testTimeout: 120_000,
        hookTimeout: 60_000,
        // After all others: these wait for real leases and processes, and leave the cores idle most of the time.
        sequence: { groupOrder: 1 },
      }),
    ],
  },
});
