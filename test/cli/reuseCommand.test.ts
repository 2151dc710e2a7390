import { expect, test } from "vitest";
import { readSpec } from "../../src/engine/client/runDocuments.ts";
import { counted, names } from "../client/clientWorld.ts";
import { cliWorld } from "./cliWorld.ts";

const plan = "a".repeat(64);
const reused = [
  { run: "a", uid: "u", plan, shardSize: 256, packs: [[0, 4, 0]] as [number, number, number][] },
];

test("submit --reuse says what it reuses, or that there is nothing and its own partials are kept", async () => {
  const world = await cliWorld();
  const first = await world.run("submit sum --to 100 --id a --reuse");
  expect(first.out).toBe("a\n");
  expect(first.err).toContain("no ended run of this request kept partials; this one does, for the next");
  const spec = (await readSpec(world.client, "a"))?.value;
  expect(spec?.reuse).toEqual({ keeps: [] });
  world.storage.operator.deleteBlob(names.active, "a");
  const uid = spec?.uid ?? "";
  await world.putState({ run: "a", uid }, { ...counted, phase: "complete", plan, code: "test" });
  const second = await world.run("submit sum --reuse a --to 100 --id b");
  expect(second.err).toContain("--reuse: takes what a has of the same inputs");
  const refused = await world.run("submit sum --to 7 --reuse a");
  expect(refused.err).toContain("invalid --reuse: run a has other parameters");
});

test("status says in one line how many packs were reused, and from which runs", async () => {
  const world = await cliWorld();
  await world.run("submit sum --to 100 --id b");
  const uid = (await readSpec(world.client, "b"))?.value.uid ?? "";
  await world.putState({ run: "b", uid }, { ...counted, phase: "computing", reused });
  expect((await world.run("status b")).out).toMatch(/^ {2}reused +4 packs reused from a$/m);
  const manifest = { reused: { packs: 1, runs: ["b", "c"] } };
  await world.putResult({ run: "b", uid }, "1", manifest);
  await world.putState({ run: "b", uid }, { ...counted, phase: "complete", reused });
  expect((await world.run("status b")).out).toMatch(/1 pack reused from before the retry, c$/m);
});
