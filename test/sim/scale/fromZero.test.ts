import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { azureScaling } from "./platform.ts";
import { runScale, type ScaleCase } from "./runScale.ts";

type Ready = NonNullable<ScaleCase["apart"]>["ready"];

interface Measured {
  readonly firstS: number;
  readonly leastS: number;
  readonly mostS: number;
}

/**
 * Seconds from the submit of 400 packs of a second to the first partial (in the middle of nine worlds) and to the end. The
 * end comes in steps, because the platform decides at intervals, so the least and the most of the worlds are given.
 */
async function measured(ready: Ready): Promise<Measured> {
  const firsts: number[] = [];
  const ends: number[] = [];
  for (let seed = 1; seed <= 9; seed += 1) {
    const run = await runScale({ packs: 400, packMs: 1_000, workers: azureScaling, apart: { ready }, seed });
    expect(run.result).toBe("[[0,40000]]");
    firsts.push(run.perSecond.findIndex((partials) => partials > 0));
    ends.push(Math.round(run.wallMs / 1_000));
  }
  const firstS = firsts.sort((a, b) => a - b)[4] ?? Number.NaN;
  return { firstS, leastS: Math.min(...ends), mostS: Math.max(...ends) };
}

/** What docs/OPERATIONS.md says of each, in its table of functions that are always ready. */
const page = readFileSync(join(import.meta.dirname, "../../../docs/OPERATIONS.md"), "utf8");
const rows = [...page.matchAll(/^\| (.+) \| (\d+) s \| (\d+) to (\d+) s \|$/gm)].map(
  ([, ready, first, least, most]) => ({ ready, said: [first, least, most].map(Number) }),
);

test("from zero a run waits for one start after the other, and each function that is always ready saves one", async () => {
  const cases: readonly Ready[] = [[], ["wake"], ["wake", "urgent"], ["wake", "urgent", "packs"]];
  const all: Measured[] = [];
  for (const ready of cases) all.push(await measured(ready));
  const [none, wake, urgent, packs] = all as [Measured, Measured, Measured, Measured];
  const startS = azureScaling.decideEveryMs / 1_000;
  // The plan and the first packs of a run are urgent, so the third start delays the rest and not the first partial.
  expect(none.firstS - wake.firstS).toBeGreaterThan(0.7 * startS);
  expect(wake.firstS - urgent.firstS).toBeGreaterThan(0.7 * startS);
  expect(urgent.firstS).toBeLessThan(10);
  expect(urgent.leastS - packs.leastS).toBeGreaterThan(0);
  expect(rows.map(({ ready }) => ready)).toEqual(["none", "`wake`", "`wake`, `workerUrgent`", "all three"]);
  // A change of the engine may move them a little; the page is then measured again.
  const far = all.filter(({ firstS, leastS, mostS }, at) =>
    [firstS, leastS, mostS].some((s, which) => {
      const said = rows[at]?.said[which] ?? Number.NaN;
      return !(Math.abs(s - said) <= 3 + 0.1 * said);
    }),
  );
  expect(far, JSON.stringify(all)).toEqual([]);
});
