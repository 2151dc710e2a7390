import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { InvocationContext } from "@azure/functions";
import { expect, test } from "vitest";
import { withLogOf } from "../../src/app/functions/logTo.ts";
import { tellLate } from "../../src/app/functions/registerTriggers.ts";
import { engineWorld } from "../support/engineWorld.ts";

/** What one run of so many packs logs where the level is Information, as in `host.json`: rows and bytes. */
async function logged(packs: number): Promise<{ rows: number; bytes: number }> {
  const engine = engineWorld();
  engine.start({ threads: 4 });
  await engine.submit({ id: "r", chunks: packs, packSize: 1 });
  await engine.world.finish(engine.untilEnd("r", 3_600_000));
  const lines = engine.log
    .filter(({ level }) => level !== "debug")
    .map(({ event, fields }) => JSON.stringify({ event, ...fields }));
  return { rows: lines.length, bytes: lines.join("").length };
}

test("a run logs by its phases and terms, and not by its packs", async () => {
  const [small, large] = [await logged(50), await logged(450)];
  expect((large.rows - small.rows) / 400).toBeLessThan(0.02);
  expect((large.bytes - small.bytes) / 400).toBeLessThan(5);
});

/** Bytes of the row of one request in AppRequests: estimated. */
const requestBytes = 1_000;

test("a pack costs 0.05 KB of log, which docs/OPERATIONS.md says: a sampled request row and no line", () => {
  const root = join(import.meta.dirname, "../..");
  const { logging } = JSON.parse(readFileSync(join(root, "host.json"), "utf8")) as {
    logging: { applicationInsights: { samplingSettings: { maxSamplingPercentage: number } } };
  };
  const share = logging.applicationInsights.samplingSettings.maxSamplingPercentage / 100;
  const perPack = (share * requestBytes) / 1_000;
  expect(perPack).toBe(0.05);
  expect(readFileSync(join(root, "docs/OPERATIONS.md"), "utf8")).toContain(`${perPack} KB`);
});

test.each([
  [true, 301, 1, 1],
  [true, 299, 1, 0],
  [false, 3_601, 1, 1],
  [false, 3_599, 1, 0],
  [false, 9_999, 2, 0],
])("urgent %s, waited %i s, delivery %i: %i lines", async (urgent, waitedS, dequeueCount, lines) => {
  const seen: string[] = [];
  const note = (line: string) => void seen.push(line);
  const context = { warn: note } as unknown as InvocationContext;
  const insertionTime = new Date(1_000_000).toISOString();
  await withLogOf(context, async () =>
    tellLate("q", urgent, { triggerMetadata: { insertionTime, dequeueCount } }, 1_000_000 + waitedS * 1_000),
  );
  expect(seen.map((line) => JSON.parse(line))).toEqual(
    Array.from({ length: lines }, () => ({ event: "message-waited", queue: "q", waitedS })),
  );
});
