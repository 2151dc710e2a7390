import { expect, test } from "vitest";
import { simulate } from "./simulate.ts";

/** `ELECTION_SEEDS=1-20000` runs a longer range; one number runs that seed alone. */
const [from = 1, to = from] = (process.env["ELECTION_SEEDS"] ?? "1-200").split("-").map(Number);

test(`seeds ${from} to ${to}: one writer per term, terms grow, nobody is followed too early, somebody leads`, async () => {
  let claims = 0;
  let accepted = 0;
  for (let seed = from; seed <= to; seed += 1) {
    const result = await simulate(seed);
    if (result.violations.length > 0) {
      throw new Error(`Seed ${seed} (ELECTION_SEEDS=${seed}): ${result.violations.join("; ")}`);
    }
    claims += result.claims;
    accepted += result.accepted;
  }
  // A simulation in which nothing happens proves nothing.
  expect(claims).toBeGreaterThan((to - from + 1) * 3);
  expect(accepted).toBeGreaterThan(claims);
}, 600_000);

test("a seed replays exactly", async () => {
  expect(await simulate(6)).toEqual(await simulate(6));
});
