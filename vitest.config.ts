import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/runner/longestFirst.ts";

const project = (name: string, include: string[], more: object = {}) => ({
  test: {
    ...{ name, include, environment: "node" },
    setupFiles: ["test/runner/measureCpu.ts"],
    // Users' files that tests write are loaded by Node itself, as in production.
    server: { deps: { external: [/\/leasefold-test-[^/]+\//] } },
    ...more,
  },
});

const computing = { setupFiles: ["test/runner/measureCpu.ts", "test/runner/lowPriority.ts"] };

/** Tests that hook module loading, replace packages, or measure their process's memory, signals or environment. */
const alone = [
  "test/functions/**/*.test.ts",
  "test/local/app.test.ts",
  "test/worker/{thread*,watchMemory}.test.ts",
  "test/{calculations/files,election/badInput,infra/bicepCli}.test.ts",
];

export default defineConfig({
  test: {
    // Many files wait for real leases and processes most of their time.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: LongestFirst },
    reporters: ["default", "./test/runner/countingReporter.ts"],
    // Compiled code is kept for the next of the many processes that tests start: the program, instances, Azurite.
    env: {
      NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/leasefold-tests"),
      // esbuild and the compiler are programs in Go, which collect garbage a quarter as often: a third less CPU.
      GOGC: "400",
    },
    projects: [
      project(
        "unit",
        [
          "test/{apiClient,dashboard,model,storage,election,calculations,leader,worker,client,api,functions,cli,local,infra,rules}/**/*.test.ts",
        ],
        { testTimeout: 60_000, isolate: false, exclude: alone, ...computing },
      ),
      project("unit-alone", alone, { testTimeout: 60_000, ...computing }),
      project("sim", ["test/sim/**/*.test.ts"], { testTimeout: 240_000, ...computing }),
      project("contract", ["test/contract/**/*.test.ts"], { testTimeout: 30_000, hookTimeout: 30_000 }),
      project("browser", ["test/browser/**/*.test.ts"], {
        ...{ testTimeout: 60_000, hookTimeout: 60_000, globalSetup: "test/browser/setUp.ts" },
      }),
      project("e2e", ["test/e2e/**/*.test.ts", "test/chaos/**/*.test.ts"], {
        ...{ testTimeout: 120_000, hookTimeout: 60_000 },
      }),
    ],
  },
});
