import { expect, test } from "vitest";
import { runScale } from "./runScale.ts";

/** Packs, what one takes, and the threads that compute them, two to an instance. */
const cases = [
  { packs: 500, packMs: 60_000 },
  { packs: 300, packMs: 30_000 },
  { packs: 200, packMs: 250_000 },
].flatMap((one) => [2, 4, 20].map((threads) => ({ ...one, threads })));

test.each(cases)(
  "$packs packs of $packMs ms on $threads threads take at most 1.05 times the ideal, and hardly any is computed twice",
  async ({ packs, packMs, threads }) => {
    const samplesMax = 5;
    const workers = threads / 2;
    const { wallMs, computed } = await runScale({ packs, packMs, workers, cores: 2 });
    expect.soft(wallMs / ((packs * packMs) / threads)).toBeLessThan(1.05);
    expect.soft(computed - samplesMax).toBeLessThanOrEqual(1.02 * packs);
  },
);

test("packs whose samples were cut off are hardly ever computed twice either", async () => {
  const { computed } = await runScale({
    packs: 200,
    packMs: 250_000,
    workers: 2,
    cores: 2,
    chunksPerPack: 1,
  });
  expect(computed - 1).toBeLessThanOrEqual(1.02 * 200);
});
