import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { azureScaling } from "./platform.ts";
import { runScale, type ScaleCase } from "./runScale.ts";

type Ready = NonNullable<ScaleCase["apart"]>["ready"];

/** Seconds from the submit of 400 packs of a second to the first partial and to the end, in the middle of three worlds. */
async function measured(ready: Ready): Promise<readonly [firstS: number, endS: number]> {
  const runs: (readonly [number, number])[] = [];
  for (const seed of [1, 2, 3]) {
    const run = await runScale({ packs: 400, packMs: 1_000, workers: azureScaling, apart: { ready }, seed });
    expect(run.result).toBe("[[0,40000]]");
    const firstS = run.perSecond.findIndex((partials) => partials > 0);
    runs.push([firstS, Math.round(run.wallMs / 1_000)]);
  }
  return runs.sort(([, a], [, b]) => a - b)[1] ?? [Number.NaN, Number.NaN];
}

/** What docs/DEPLOY.md says of each, in its table of functions that are always ready. */
const page = readFileSync(join(import.meta.dirname, "../../../docs/DEPLOY.md"), "utf8");
const rows = [...page.matchAll(/^\| (.+) \| (\d+) s \| (\d+) s \|$/gm)].map(
  ([, ready, first, end]) => [ready, Number(first), Number(end)] as const,
);

test("from zero a run waits for one start after the other, and each function that is always ready saves one", async () => {
  const cases: readonly Ready[] = [[], ["wake"], ["wake", "urgent"], ["wake", "urgent", "packs"]];
  const all: (readonly [number, number])[] = [];
  for (const ready of cases) all.push(await measured(ready));
  const [none = [0, 0], wake = [0, 0], urgent = [0, 0], packs = [0, 0]] = all;
  const startS = azureScaling.decideEveryMs / 1_000;
  // The plan and the first packs of a run are urgent, so the third start delays the rest and not the first partial.
  expect(none[0] - wake[0]).toBeGreaterThan(0.7 * startS);
  expect(wake[0] - urgent[0]).toBeGreaterThan(0.7 * startS);
  expect(urgent[0]).toBeLessThan(10);
  expect(urgent[1] - packs[1]).toBeGreaterThan(0);
  expect(rows.map(([ready]) => ready)).toEqual(["none", "`wake`", "`wake`, `workerUrgent`", "all three"]);
  // A change of the engine may move them a little; the page is then measured again.
  const far = all.filter(([first, end], at) => {
    const [, firstSaid = 0, endSaid = 0] = rows[at] ?? [];
    return Math.abs(first - firstSaid) > 3 + 0.1 * firstSaid || Math.abs(end - endSaid) > 0.1 * endSaid;
  });
  expect(far, JSON.stringify(all)).toEqual([]);
});
