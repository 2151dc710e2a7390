import { expect, test } from "vitest";
import { command } from "../../src/engine/client/commands/command.ts";
import { engineWorld, simNames } from "../support/engineWorld.ts";

/** On Flex Consumption timers were seen to stop after a deployment (Azure/azure-functions-host issue 11828). */
const noTimer = { tickEveryMs: Number.MAX_SAFE_INTEGER / 2, keepDays: 30 };

test("a run completes by its wakes alone, and the daily sweep is made at the end of its term", async () => {
  const engine = engineWorld();
  engine.start(noTimer);
  await engine.world.advance(30_000); // The tick at its start finds nothing.
  await engine.submit({ id: "r", chunks: 40, packSize: 1 });
  expect((await engine.world.finish(engine.untilEnd("r", 600_000))).phase).toBe("complete");
  await engine.world.advance(60_000);
  expect(engine.log.map(({ event }) => event)).toContain("expiry-swept");
});

test("a leader that dies is replaced by its own wake", async () => {
  const engine = engineWorld();
  const [first] = [engine.start(noTimer), engine.start(noTimer)];
  await engine.world.advance(30_000);
  await engine.submit({ id: "r", chunks: 400, packSize: 1 });
  await engine.world.advance(8_000);
  const leader = engine.instances.find((one) => one.leading()) ?? first;
  leader?.kill();
  expect((await engine.world.finish(engine.untilEnd("r", 1_200_000))).phase).toBe("complete");
  expect(engine.log.filter(({ event }) => event === "lease-claimed").length).toBeGreaterThan(1);
});

test("a run whose wakes were lost is led with the next command of any run", async () => {
  let lose = true;
  const engine = engineWorld({
    watched: (storage) => ({
      ...storage,
      queues: {
        ...storage.queues,
        send: async (queue, ...rest) =>
          lose && queue === simNames.wake
            ? { id: "lost", insertedMs: 0, popReceipt: "" }
            : await storage.queues.send(queue, ...rest),
      } as typeof storage.queues,
    }),
  });
  engine.start(noTimer);
  await engine.world.advance(30_000);
  await engine.submit({ id: "lost", chunks: 10, packSize: 1 });
  await engine.world.advance(600_000);
  expect(await engine.state("lost")).toBeUndefined();
  lose = false;
  await engine.world.finish(command(engine.client, "lost", { kind: "cap", cap: 7 }));
  expect((await engine.world.finish(engine.untilEnd("lost", 600_000))).phase).toBe("complete");
});
