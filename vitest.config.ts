import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { deepSeed } from "./test/runner/deepSeed.ts";
import { LongestFirst } from "./test/runner/longestFirst.ts";

/** Longer than any wait of a test (`test/support/patience.ts`), so that a wait that is in vain says itself what did not come. */
const limitMs = 300_000;

const project = (name: string, include: string[], { setupFiles = [], ...more }: Project = {}) => ({
  test: {
    ...{ name, include, environment: "node", testTimeout: limitMs, hookTimeout: limitMs },
    setupFiles: ["test/runner/measureCpu.ts", ...setupFiles],
    execArgv: ["--require", join(import.meta.dirname, "test/runner/compileCache.cjs")],
    // Users' files that tests write are loaded by Node itself, as in production.
    server: { deps: { external: [/\/leasefold-test-[^/]+\//] } },
    ...more,
  },
});
interface Project {
  readonly setupFiles?: readonly string[];
  readonly exclude?: string[];
  readonly testTimeout?: number;
  readonly hookTimeout?: number;
  readonly isolate?: boolean;
  readonly globalSetup?: string;
  readonly env?: Record<string, string>;
}

/** Files that only compute, and draw. They wait for nothing but their own work, which ends whenever the machine lets it. */
const computing = {
  setupFiles: ["test/runner/fixSeed.ts"],
  ...{ testTimeout: 3_600_000, hookTimeout: 3_600_000 },
};

/** Tests that hook module loading, replace packages, or measure their process's memory, signals or environment. */
const alone = [
  "test/functions/**/*.test.ts",
  "packages/cli/test/local/app.test.ts",
  "test/worker/{thread*,watchMemory}.test.ts",
  "packages/sql/test/thread*.test.ts",
  "test/{calculations/files,election/badInput}.test.ts",
];

/** Unit tests: those of `src` and of what spans it, and those of each package. */
const rooms = [
  "test/{model,storage,election,calculations,leader,worker,client,api,functions,infra,rules}",
  "packages/*/test",
];
const inRooms = (files: string) => rooms.map((room) => `${room}/**/${files}`);
const browser = "packages/dashboard/test/browser/**/*.test.ts";
const emulator = "packages/cli/test/emulator/*.test.ts";

/** Commands that start a thread of user code for each case, and the compiler of the templates. */
const deepUnit = [
  "test/infra/compiled.test.ts",
  "packages/cli/test/{checkCommand,tryCommand,processCli}.test.ts",
];

/** Whole runs with real processes that `npm test` plays; the others of their folder are deep. */
const e2e = ["test/e2e/{up,engineSteering,local,tokenHost}.test.ts"];
/** Of the model of the platform, what guards a promise; the others of its folder tell how fast it is. */
const scale = ["test/sim/scale/{leading,sharedCores}.test.ts"];

/** CPU of the emulator as it is installed beside the one that `up` starts. */
const emulatorSpeed = ["packages/cli/test/emulator/azuriteSpeed.test.ts"];
/** Of the simulation, what tells how evenly runs share, and how near estimates and bills come. */
const pace = ["test/sim/engine/{fairness,cost,bill}.test.ts"];

/** What `npm test` runs, after every change: nothing in it is drawn. */
const usual = [
  project("unit", inRooms("*.test.ts"), { isolate: false, exclude: [browser, emulator, ...alone, ...deepUnit], ...computing }),
  project("unit-alone", alone, computing),
  project("sim", ["test/sim/{engine,election,code}/**/*.test.ts", "test/sim/*.test.ts", ...scale], {
    ...{ exclude: pace, ...computing },
  }),
  project("contract", ["test/contract/**/*.test.ts", emulator], {
    ...{ globalSetup: "test/runner/sharedAzurite.ts", exclude: emulatorSpeed },
  }),
  project("e2e", e2e),
];

/** What `npm run test:deep` runs: drawn seeds, storms, fuzzers, the browser, packaging, other builds. */
const deep = [
  project("deep-sim", ["test/sim/{engine/simulation,election/election}.test.ts"], {
    env: deepSeed,
    ...computing,
  }),
  project("deep-unit", deepUnit, { env: deepSeed, isolate: false, ...computing }),
  project("deep-scale", ["test/sim/scale/**/*.test.ts", ...pace], { exclude: scale, ...computing }),
  project("deep-fuzz", inRooms("*.fuzz.test.ts"), { env: deepSeed, isolate: false, ...computing }),
  project("deep-e2e", ["test/e2e/**/*.test.ts", "test/chaos/**/*.test.ts", ...emulatorSpeed], {
    ...{ env: deepSeed, exclude: e2e },
  }),
  project("deep-browser", [browser], { globalSetup: "packages/dashboard/test/browser/setUp.ts" }),
];

export default defineConfig({
  test: {
    // Many files wait for real leases and processes most of their time.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: LongestFirst },
    reporters: ["default", "./test/runner/countingReporter.ts"],
    expect: { poll: { timeout: 120_000 } },
    // Compiled code is kept for the next of the many processes that tests start: the program, instances, Azurite.
    env: {
      NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/leasefold-tests"),
      // esbuild and the compiler are programs in Go, which collect garbage a quarter as often: a third less CPU.
      GOGC: "400",
    },
    projects: [...usual, ...deep],
  },
});
