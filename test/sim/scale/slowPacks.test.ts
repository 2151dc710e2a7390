import { expect, test } from "vitest";
import { runScale } from "./runScale.ts";

/** What a pack takes, and the threads that compute 40 of them each, two to an instance. */
const cases = [30_000, 60_000, 250_000].flatMap((packMs) => [2, 20].map((threads) => ({ packMs, threads })));

test.each(cases)(
  "packs of $packMs ms on $threads threads take at most 1.06 times the ideal, and hardly any is computed twice",
  async ({ packMs, threads }) => {
    const packs = 40 * threads;
    const samplesMax = 5;
    const workers = threads / 2;
    const { wallMs, computed } = await runScale({ packs, packMs, workers, cores: 2 });
    expect.soft(wallMs / ((packs * packMs) / threads)).toBeLessThan(1.06);
    expect.soft(computed - samplesMax).toBeLessThanOrEqual(1.02 * packs);
  },
);

test("packs whose samples were cut off are hardly ever computed twice either", async () => {
  const { computed } = await runScale({
    packs: 80,
    packMs: 250_000,
    workers: 2,
    cores: 2,
    chunksPerPack: 1,
  });
  expect(computed - 1).toBeLessThanOrEqual(1.02 * 80);
});
