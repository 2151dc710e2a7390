import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { submit } from "../../src/engine/client/submit.ts";
import { type RealApp, startRealApp } from "../support/realApp.ts";

/** Files of an upstream that come late, are torn at first, or are wrong, in real processes (rule *waits*). */
const file = fileURLToPath(new URL("../fixtures/late.calculation.ts", import.meta.url));
const day = "2026-11-26";
let app: RealApp;

beforeAll(async () => {
  app = await startRealApp({ instances: 2, calculations: [file] });
});
afterAll(async () => {
  await app?.stop();
});

const put = async (path: string, text: string): Promise<void> => {
  const { blobs } = app.client.storage;
  await blobs.remove(app.client.names.inputs, path);
  await blobs.create(app.client.names.inputs, path, text);
};
const sourceOf = (name: string): string => `${app.client.names.inputs}/${name}/`;

test("a plan asks for its file until that is there, and the run says why it waits", async () => {
  const params = { source: sourceOf("asks"), day };
  const { run } = await submit(app.client, { calculation: "late", params, attempts: 1 });
  const waiting = await app.until(run, ({ waits }) => waits !== undefined);
  expect(waiting).toMatchObject({
    phase: "planning",
    waits: { works: 1, work: "plan", code: "retry-later" },
  });
  expect(waiting.waits?.message).toContain("no file below");
  await put("asks/rows.txt", `${day}\n1\n2\n`);
  expect(await app.until(run, ({ active }) => !active)).toMatchObject({ phase: "complete" });
  expect(JSON.parse(await app.result(run))).toBe(3);
});

test("a file that is torn at first is read again after the pauses of the run", async () => {
  await put("torn/rows.txt", "torn\n");
  await put("torn/more.txt", `${day}\n5\n`);
  const params = { source: sourceOf("torn"), day };
  const request = { calculation: "late", params, packSize: 1, attempts: 20, retryAfterS: [1, 3] };
  const { run } = await submit(app.client, request);
  const { error, ...seen } = await app.until(run, ({ active, trying }) => !active || trying !== undefined);
  expect([error, seen.active, seen.trying?.code]).toEqual([undefined, true, "calculation-threw"]);
  // A chunk's file is fixed by the plan, so it may not be replaced: the run says so at once.
  await put("torn/rows.txt", `${day}\n7\n`);
  expect(await app.until(run, ({ active }) => !active)).toMatchObject({
    phase: "failed",
    error: { message: expect.stringContaining("rows.txt") },
  });
});

test("the files of a built-in calculation may come late too", async () => {
  const params = { source: sourceOf("listed"), query: "select count(*) from data" };
  const request = { calculation: "sql", params, attempts: 50, retryAfterS: [1] };
  const { run } = await submit(app.client, request);
  const waiting = await app.until(run, ({ waits }) => waits !== undefined);
  expect(waiting.waits).toMatchObject({ code: "empty-source" });
  await put("listed/a.csv", "a\n1\n");
  expect(await app.until(run, ({ active }) => !active)).toMatchObject({ phase: "complete" });
});

test("a file of another day fails the run at once with the reason first, whatever it tolerates", async () => {
  await put("wrong/rows.txt", "1999-01-01\n1\n");
  const params = { source: sourceOf("wrong"), day };
  const { run } = await submit(app.client, { calculation: "late", params, tolerate: { percent: 100 } });
  expect(await app.until(run, ({ active }) => !active)).toMatchObject({
    phase: "failed",
    error: {
      code: "calculation-failed",
      message: expect.stringMatching(/rows\.txt is of 1999-01-01 \(chunk 0\)$/),
    },
  });
});
