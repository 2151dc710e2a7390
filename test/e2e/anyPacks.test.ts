import { hash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { runSerially } from "../../src/calculations/leasefold.ts";
import { noFiles } from "../../src/engine/calculation/files.ts";
import { findManifest } from "../../src/engine/client/result.ts";
import { submit } from "../../src/engine/client/submit.ts";
import means from "../fixtures/means.calculation.ts";
import { startRealApp } from "../support/realApp.ts";

const file = fileURLToPath(new URL("../fixtures/means.calculation.ts", import.meta.url));
const chunks = 3_001;
/** Chosen by the plan, a power of two, and one whose packs are no spans of the tree and make several shards. */
const packSizes = [undefined, 64, 7];

const params = { chunks };
type Moments = ReturnType<typeof means.zero>;
const momentsOf = (index: number) =>
  means.compute({ index, count: chunks, input: undefined, params, files: noFiles }) as Moments;

async function runningApp(instances: number) {
  const app = await startRealApp({ instances, calculations: [file] });
  return { ...app, [Symbol.asyncDispose]: () => app.stop() };
}

test("plain floating-point sums have one hash for three pack sizes on one, two and three instances", async () => {
  const hashes = new Map<string, string>();
  const packs = new Set<number>();
  for (const instances of [1, 2, 3]) {
    await using app = await runningApp(instances);
    const submitted = packSizes.map(async (packSize, index) => {
      const id = `packs-${index}`;
      await submit(app.client, { calculation: "means", params, id, packSize });
      const view = await app.until(id, ({ active }) => !active);
      expect(view.word).toBe("complete");
      const manifest = await findManifest(app.client, id);
      packs.add(manifest.packs);
      hashes.set(`${instances} ${packSize}`, manifest.sha256);
    });
    await Promise.all(submitted);
  }
  expect(hashes.size).toBe(9);
  expect(packs).toContain(429);
  expect([...packs].length).toBeGreaterThanOrEqual(3);
  expect(new Set(hashes.values()).size).toBe(1);
  const { body } = await runSerially(means, params);
  expect(hashes.get("1 7")).toBe(hash("sha256", body));
  // A loop from left to right gives other bits, so one hash tells something.
  const looped = Array.from({ length: chunks }, (_, index) => momentsOf(index)).reduce(
    (a, b) => means.merge(a, b, params) as Moments,
  );
  expect(JSON.parse(Buffer.from(body).toString()).sum).not.toBe(looped.sum);
});
