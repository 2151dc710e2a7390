import { expect, test } from "vitest";
import { coordinate, newTerm } from "../../src/engine/leader/coordinate.ts";
import { planOf } from "../support/runFixtures.ts";
import { leadInMemory } from "./leadInMemory.ts";

test("a leader of many runs holds parameters only where they are short enough for a summary", async () => {
  const account = leadInMemory();
  const text = "x".repeat(250_000);
  await account.addRun("long", planOf(10), { spec: { params: { text }, given: { text: `${text} ` } } });
  await account.addRun("short", planOf(10), { spec: { params: { n: 1 }, given: { n: "1" } } });
  const term = newTerm(account.ports, account.leader);
  const leading = coordinate(term, { loopMs: 2_000, fastLoopMs: 100 });
  await account.world.advance(10_000);
  const specs = new Map([...term.runs].map(([id, { spec }]) => [id, spec]));
  account.end();
  await account.world.finish(leading);
  expect(JSON.stringify(specs.get("long")).length).toBeLessThan(1_000);
  expect(specs.get("short")).toMatchObject({ calculation: "sum", params: { n: 1 } });
  expect(specs.get("short")).not.toHaveProperty("given");
});
