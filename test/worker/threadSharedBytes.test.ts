import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { threadPool } from "../../src/app/threadPool.ts";
import { noAccess } from "../../src/engine/calculation/files.ts";
import type { UserCode } from "../../src/engine/worker/threads/userCode.ts";

/** A codec that encodes into memory of its own: a SharedArrayBuffer, as WebAssembly with threads has, or a large one. */
const code = (memory: string) => `
import { defineCalculation } from "leasefold";
const memory = ${memory};
const bytes = new Uint8Array(memory);
export default defineCalculation({
  name: "shared", version: "1", summary: "s",
  params: { safeParse: (data) => ({ success: true, data }), _zod: {} },
  plan: () => 100,
  compute: ({ index }) => index,
  merge: (a, b) => a + b,
  zero: () => 0,
  codec: {
    contentType: "application/octet-stream",
    encode(part) { const text = new TextEncoder().encode("part " + part); bytes.set(text, 0); return bytes.subarray(0, text.length); },
    decode: (given) => Number(new TextDecoder().decode(given).slice(5)),
  },
});
`;

const folders: string[] = [];
const pools: UserCode[] = [];
afterAll(async () => {
  for (const pool of pools) await pool.stop();
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

async function poolWith(memory: string): Promise<UserCode> {
  const folder = await mkdtemp(join(tmpdir(), "leasefold-test-"));
  folders.push(folder);
  const file = join(folder, "shared.calculation.mjs");
  await writeFile(file, code(memory));
  const pool = threadPool({ threads: 1, memoryMb: 512, files: [file], access: noAccess, onIdleCrash() {} });
  pools.push(pool);
  return pool;
}

const chunk = (from: number) => ({ calculation: "shared", params: {}, from, to: from + 1, count: 100 });
const options = { urgent: false, limitMs: 20_000 };
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

test("a partial that was handed over does not change with the next task of its thread", async () => {
  const pool = await poolWith("new SharedArrayBuffer(65536)");
  const first = await pool.compute(chunk(11), options);
  // What the process does with it, such as a write to storage, takes longer than the next task of the thread.
  const second = await pool.compute(chunk(22), options);
  expect([text(first.bytes), text(second.bytes)]).toEqual(["part 11", "part 22"]);
});

test("a partial of a few bytes does not bring the memory along in which it lies", async () => {
  const pool = await poolWith("new ArrayBuffer(256 * 1024 * 1024)");
  const { bytes } = await pool.compute(chunk(11), options);
  expect(bytes.buffer.byteLength).toBeLessThan(1024 * 1024);
});
