import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { threadPool } from "../../src/app/threadPool.ts";
import { noAccess } from "../../src/engine/calculation/files.ts";
import type { CalculationError } from "../../src/engine/model/errors.ts";
import type { UserCode } from "../../src/engine/worker/threads/userCode.ts";

/** A user's file with its own copy of what it imports from "leasefold", in threads of the pool. */

const source = `
import { defineCalculation, failRun, retryLater, z } from "leasefold";
const say = (how) => {
  if (how === "later") retryLater("no file yet", 29.5);
  if (how === "fails") throw failRun("wrong year");
};
export default defineCalculation({
  name: "asks",
  summary: "asks",
  params: z.object({ plan: z.string().default(""), chunk: z.string().default(""), merge: z.string().default("") }),
  plan: ({ plan }) => (say(plan), 2),
  compute: async ({ params }) => (say(params.chunk), 1),
  merge: (a, b, { merge }) => (say(merge), a + b),
  zero: () => 0,
});
`;

let folder = "";
let pool: UserCode;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-asks-"));
  const file = join(folder, "asks.mjs");
  const leasefold = resolve(import.meta.dirname, "../../src/calculations/leasefold.ts");
  await build({
    stdin: { contents: source, resolveDir: resolve(import.meta.dirname, "../..") },
    ...{ bundle: true, platform: "node", format: "esm", outfile: file, logLevel: "silent" },
    alias: { leasefold },
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
  pool = threadPool({ threads: 1, memoryMb: 128, files: [file], access: noAccess, onIdleCrash: () => {} });
});
afterAll(async () => {
  await pool.stop();
  await rm(folder, { recursive: true, force: true });
});

test.each([
  [{ plan: "later" }, "retry-later", "plan: no file yet", 30],
  [{ chunk: "later" }, "retry-later", "chunk 0: no file yet", 30],
  [{ merge: "later" }, "retry-later", "merge: no file yet", 30],
  [{ plan: "fails" }, "fail-run", "wrong year (plan)", undefined],
  [{ chunk: "fails" }, "fail-run", "wrong year (chunk 0)", undefined],
  [{ merge: "fails" }, "fail-run", "wrong year (merge)", undefined],
])("what it asks for (%j) crosses from its bundle and its thread", async (asked, code, message, laterS) => {
  const params = { plan: "", chunk: "", merge: "", ...asked };
  const task = { calculation: "asks", params };
  const options = { urgent: false, limitMs: 20_000 };
  const pack = { ...task, from: 0, to: 2, count: 2, gaps: { most: 1, last: true } };
  const running = "plan" in asked ? pool.plan(task, async () => {}, options) : pool.compute(pack, options);
  const error = (await running.then(
    () => expect.fail("it did not fail"),
    (thrown: unknown) => thrown,
  )) as CalculationError;
  expect(error).toMatchObject({ name: "CalculationError", code, message });
  expect(error.details["laterS"]).toBe(laterS);
});
