import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  type ElectionSettings,
  electionSettings,
  fastTakeover,
  stopWorkMs,
} from "../../src/election/settings.ts";
import { calls, dollarsOf } from "../../src/engine/model/calls.ts";
import { ConfigError } from "../../src/engine/model/errors.ts";

test("the defaults hold together, at every lease length and with early takeover", () => {
  for (let leaseDurationS = 15; leaseDurationS <= 60; leaseDurationS += 1) {
    const settings = electionSettings({ leaseDurationS, breakAfterMs: 4_000 });
    expect(stopWorkMs(settings)).toBe(leaseDurationS * 1_000 - 2_000);
  }
});

test("the settings of a fast takeover hold together: twice the heartbeats and polls, and three heartbeats may fail", () => {
  const [fast, usual] = [electionSettings(fastTakeover), electionSettings({ breakAfterMs: 4_000 })];
  expect([usual.heartbeatEveryMs / fast.heartbeatEveryMs, usual.pollEveryMs / fast.pollEveryMs]).toEqual([
    2, 2,
  ]);
  expect(fast.breakAfterMs - 1_000 - 3 * fast.heartbeatEveryMs).toBeGreaterThanOrEqual(fast.heartbeatCapMs);
});

test("docs/ELECTION.md tells what the calls of a fast takeover cost in a month", () => {
  const page = readFileSync(new URL("../../docs/ELECTION.md", import.meta.url), "utf8");
  const { heartbeatEveryMs, renewEveryMs, pollEveryMs } = electionSettings(fastTakeover);
  const leader = { other: 60_000 / heartbeatEveryMs + 60_000 / renewEveryMs, queue: 32 };
  const follower = { other: 60_000 / pollEveryMs, queue: 0 };
  for (const [row, { other, queue }] of [
    ["leader with `fast`, the election alone, at most", leader],
    ["follower that watches with `fast`, at most", follower],
  ] as const) {
    const dollars = dollarsOf(calls({ other, queue })) * ((60 * 24 * 365.25) / 12);
    expect(page).toContain(
      `| ${row} | ${other} | ${queue || ""}${queue ? " " : ""}| | $${dollars.toFixed(2)} |`,
    );
  }
});

test.each<[Partial<ElectionSettings>, string]>([
  [{ leaseDurationS: 14 }, "lease length"],
  [{ leaseDurationS: 61 }, "lease length"],
  [{ leaseDurationS: 15.5 }, "lease length"],
  [{ requestCapMs: 5_000 }, "request cap < renew interval"],
  [{ renewEveryMs: 13_000 }, "renew interval < stop-work"],
  [{ marginMs: 0 }, "above zero"],
  [{ heartbeatCapMs: 1_000 }, "heartbeat cap < heartbeat interval"],
  [{ breakAfterMs: 3_900 }, "3 heartbeats + 1 s"],
  [
    { breakAfterMs: 4_000, heartbeatCapMs: 1_000 },
    "heartbeat interval + 2 x heartbeat cap < break threshold - 1 s",
  ],
  [{ breakAfterMs: 15_000 }, "break threshold < lease"],
  [{ breakAfterMs: -1 }, "break threshold is 0"],
  [{ stallAfterMs: -1 }, "stall limit"],
  [{ tries: 0 }, "tries"],
  [{ budgetMs: 60_000, functionTimeoutMs: 60_000 }, "budget < function timeout"],
  [{ functionTimeoutMs: 60_000, functionMarginMs: 9_000 }, "drain cap + 2 x request cap < function margin"],
  [{ functionTimeoutMs: 10_000 }, "function margin < function timeout"],
  [{ budgetMs: 10_000 }, "least term"],
])("%j is refused, naming the relation", (chosen, relation) => {
  const check = () => electionSettings(chosen);
  expect(check).toThrow(ConfigError);
  expect(check).toThrow(relation);
});
