import { expect, inject, it } from "vitest";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import { lead } from "../../src/election/api/lead.ts";
import type { ElectionEvent } from "../../src/election/events.ts";
import { electionSettings } from "../../src/election/settings.ts";
import { noCalls } from "../../src/engine/model/calls.ts";
import { systemClock as clock, systemRandom as random } from "../../src/engine/storage/system.ts";
import { raceAndLead } from "../support/raceAndLead.ts";

/** What contending costs while somebody leads, counted below the SDK on a real emulator. */

it("a follower's contention while a leader writes heartbeats is one HEAD each time: no 409 and no write", async () => {
  const end = new AbortController();
  const options = { connection: inject("azurite"), namespace: "calls", name: "x", signal: end.signal };
  let leads = (): void => {};
  const led = new Promise<void>((resolve) => {
    leads = resolve;
  });
  const leader = lead(options, async ({ signal }) => {
    leads();
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  });
  await led;

  const storage = connectStorage({ connectionString: inject("azurite") });
  const lease = storage.lease("calls-coordination", "x");
  const enough = new AbortController();
  let looks = 0;
  const refused: unknown[] = [];
  const counted = Object.fromEntries(
    Object.entries(lease).map(([name, call]) => [
      name,
      async (...args: unknown[]) => {
        try {
          return await (call as (...all: unknown[]) => Promise<unknown>)(...args);
        } catch (error) {
          refused.push(error);
          throw error;
        } finally {
          if (name === "view" && ++looks === 20 + 14) enough.abort();
        }
      },
    ]),
  ) as unknown as typeof lease;
  const events: ElectionEvent[] = [];
  const contend = (watching: boolean, stopping: AbortSignal) =>
    raceAndLead(
      { lease: counted, clock, random, on: (event) => void events.push(event) },
      electionSettings({ watching, breakAfterMs: 4_000 }),
      {
        holder: "follower",
        startedAtMonotonicMs: clock.monotonicMs(),
        worthLeading: async () => true,
        lead: async () => {},
        stopping,
      },
    );
  const never = new AbortController().signal;
  for (let tick = 0; tick < 20; tick += 1)
    expect(await contend(false, never)).toMatchObject({ kind: "follower" });
  expect(storage.meter.counts()).toEqual({ ...noCalls, other: 20 });
  // Looks are half a second apart: longer than the leader's heartbeats are, and than one of its renewals.
  expect(await contend(true, enough.signal)).toMatchObject({ kind: "refused", code: "stopping" });
  expect(storage.meter.counts()).toEqual({ ...noCalls, other: looks });
  expect([refused, events]).toEqual([[], []]);
  end.abort();
  expect(await leader).toMatchObject({ kind: "stopped", term: 1 });
});
