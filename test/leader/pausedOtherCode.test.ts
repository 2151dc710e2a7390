import { expect, test } from "vitest";
import { command } from "../../src/engine/client/commands/command.ts";
import { engineWorld } from "../support/engineWorld.ts";

test("nobody leads any more for a run whose code no instance has, six hours after it was paused", async () => {
  const engine = engineWorld({ seed: 5 });
  const { world, client } = engine;
  engine.start({ code: "ranges@2" });
  await engine.submit({ id: "r", chunks: 4, packSize: 1 });
  await world.advance(5_000);
  expect(engine.instances[0]?.leading()).toBe(true);
  await world.finish(command(client, "r", { kind: "pause" }));
  await world.advance(6 * 3_600_000);
  expect(engine.instances[0]?.leading()).toBe(false);
});
