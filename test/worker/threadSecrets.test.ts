import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { threadPool } from "../../src/app/threadPool.ts";
import { noAccess } from "../../src/engine/calculation/files.ts";
import { limits } from "../../src/engine/model/limits.ts";
import { threadStart } from "../../src/engine/worker/threads/threadStart.ts";
import type { UserCode } from "../../src/engine/worker/threads/userCode.ts";

const secrets = [
  ...["DataStorage", "DataStorage__clientId", "AzureWebJobsStorage", "APPLICATIONINSIGHTS_CONNECTION_STRING"],
  ...["IDENTITY_HEADER", "LEASEFOLD_SOMETHING", "npm_config__auth", "MY_PASSWORD"],
];
const task = { urgent: false, limitMs: 20_000 };
const job = { calculation: "revealing", from: 0, to: 1, count: 1 };
let pool: UserCode;

beforeAll(() => {
  for (const name of secrets) process.env[name] = "AccountKey=secret";
  const files = [join(import.meta.dirname, "..", "fixtures", "revealing.calculation.ts")];
  pool = threadPool({ threads: 1, memoryMb: 128, files, access: noAccess, onIdleCrash: () => {} });
});
afterAll(async () => {
  for (const name of secrets) delete process.env[name];
  await pool.stop();
});

describe("a calculation in its thread", () => {
  test("finds no connection string, key or token in its environment, and the path of the process", async () => {
    const { bytes } = await pool.compute({ ...job, params: { long: false } }, task);
    const found = JSON.parse(Buffer.from(bytes).toString());
    expect(Object.keys(found).filter((name) => secrets.includes(name))).toEqual([]);
    expect(Object.values(found)).not.toContain("AccountKey=secret");
    expect(found).toMatchObject({ PATH: process.env["PATH"] });
  });

  test("that throws a megabyte of text fails with its beginning", async () => {
    const running = pool.compute({ ...job, params: { long: true } }, task);
    const error = await running.then(
      () => undefined,
      (thrown: Error & { details: object }) => thrown,
    );
    expect(error?.message).toMatch(/^chunk 0: cell cell /);
    expect(error?.message.length).toBeLessThanOrEqual(limits.errorCharactersMax);
    expect(JSON.stringify(error?.details).length).toBeLessThan(2 * limits.errorCharactersMax);
  });
});

test("a thread starts without the options that only a process takes", () => {
  const { execArgv } = process;
  process.execArgv = [
    "--max-semi-space-size=4",
    "--v8-pool-size=2",
    "--input-type=module",
    "--enable-source-maps",
  ];
  try {
    expect(threadStart(64).execArgv).toEqual(["--enable-source-maps"]);
  } finally {
    process.execArgv = execArgv;
  }
});
