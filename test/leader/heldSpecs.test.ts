import { expect, test } from "vitest";
import { coordinate, newTerm } from "../../src/engine/leader/coordinate.ts";
import { planOf } from "../support/runFixtures.ts";
import { leadOnTwin } from "./leadOnTwin.ts";

test("a leader of many runs holds parameters only where they are short enough for a summary", async () => {
  const twin = leadOnTwin();
  const text = "x".repeat(250_000);
  await twin.addRun("long", planOf(10), { spec: { params: { text }, given: { text: `${text} ` } } });
  await twin.addRun("short", planOf(10), { spec: { params: { n: 1 }, given: { n: "1" } } });
  const term = newTerm(twin.ports, twin.leader);
  const leading = coordinate(term, { loopMs: 2_000, fastLoopMs: 100 });
  await twin.world.advance(10_000);
  const specs = new Map([...term.runs].map(([id, { spec }]) => [id, spec]));
  twin.end();
  await twin.world.finish(leading);
  expect(JSON.stringify(specs.get("long")).length).toBeLessThan(1_000);
  expect(specs.get("short")).toMatchObject({ calculation: "sum", params: { n: 1 } });
  expect(specs.get("short")).not.toHaveProperty("given");
});
