import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { command } from "../../src/engine/client/commands/command.ts";
import { runSpanOf } from "../../src/engine/model/trace.ts";
import { startCollector } from "../support/collector.ts";
import { type RealApp, startRealApp } from "../support/realApp.ts";

const calculations = [join(import.meta.dirname, "../fixtures/chain.calculation.ts")];
const noteLoads = pathToFileURL(join(import.meta.dirname, "../fixtures/noteLoads.mjs")).href;
const patient = { interval: 250 };
let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "telemetry-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Settings by which instances note what they load. */
const noting = () => ({ NODE_OPTIONS: `--import=${noteLoads}`, NOTE_LOADS: join(folder, "loads") });
const loadsOf = async () => (await readFile(join(folder, "loads"), "utf8")).split("\n");

async function submit(app: RealApp, id: string, headers: Record<string, string> = {}): Promise<void> {
  const [one] = app.instances.instances;
  const answer = await fetch(`${one?.httpUrl}/api/runs`, {
    method: "POST",
    headers: { "x-functions-key": app.instances.functionKey, "content-type": "application/json", ...headers },
    body: JSON.stringify({ calculation: "chain", params: { chunks: 64 }, packSize: 8, id }),
  });
  expect(answer.status, await answer.text()).toBe(202);
  await app.until(id, ({ active }) => !active);
}

test("with a collector named, a run that two instances compute is one trace under its caller's span", async () => {
  await using collector = await startCollector();
  const app = await startRealApp({
    instances: 2,
    calculations,
    env: { ...noting(), OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_METRIC_EXPORT_INTERVAL: "500" },
  });
  await using _ = { [Symbol.asyncDispose]: () => app.stop() };
  const [traceId, caller] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];
  await submit(app, "called", { traceparent: `00-${traceId}-${caller}-01` });
  await submit(app, "unsampled", { traceparent: `00-${traceId.replace("4", "5")}-${caller}-00` });
  await submit(app, "own");
  const { uid } = await app.until("own", () => true);
  await command(app.client, "own", { kind: "retry", redo: "recompute" });
  await app.until("own", ({ active, generation }) => !active && generation === 2);
  const ofRun = (id: string) =>
    collector.spans.filter(({ attributes }) => attributes["leasefold.run"] === id);
  // They are sent in the background; at a stop only what half a second allows.
  await vi.waitFor(() => expect(ofRun("own").filter(({ name }) => name === "run").length).toBe(2), patient);
  await vi.waitFor(() => expect(ofRun("called").length).toBeGreaterThanOrEqual(12), patient);
  await vi.waitFor(() => expect(collector.metrics.size).toBe(6), patient);
  await app.stop();

  const called = ofRun("called");
  expect(new Set(called.map((span) => span.traceId))).toEqual(new Set([traceId]));
  const [root, ...others] = called.filter(({ name }) => name === "run");
  expect(others).toEqual([]);
  expect(root).toMatchObject({ parentSpanId: caller, failed: false });
  expect(root?.attributes).toMatchObject({
    "leasefold.calculation": "chain",
    "leasefold.phase": "complete",
    "leasefold.packs": 8,
  });
  const attempts = called.filter((span) => span !== root);
  expect(attempts.map(({ parentSpanId }) => parentSpanId)).toEqual(attempts.map(() => root?.spanId));
  expect(new Set(attempts.map(({ name }) => name))).toEqual(new Set(["submit", "plan", "compute", "finish"]));
  const packs = attempts.filter(({ name }) => name === "compute");
  const indexes = packs.map(({ attributes }) => attributes["leasefold.pack"]);
  expect(new Set(indexes)).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7]));
  for (const { attributes, startMs, endMs } of packs) {
    expect(attributes).toMatchObject({ "leasefold.calculation": "chain", "leasefold.attempt": 1 });
    expect(endMs).toBeGreaterThanOrEqual(startMs);
  }
  for (const { instance } of collector.spans) expect(["node-1", "node-2"]).toContain(instance);

  expect(ofRun("unsampled")).toEqual([]);

  const own = ofRun("own");
  const generations = [1, 2].map((gen) => runSpanOf({ uid, gen }));
  const runs = own.filter(({ name }) => name === "run").sort((a, b) => a.startMs - b.startMs);
  expect(runs.map(({ spanId }) => spanId)).toEqual(generations.map(({ spanId }) => spanId));
  expect(runs.map(({ parentSpanId }) => parentSpanId)).toEqual([undefined, undefined]);
  expect(runs.map(({ links }) => links)).toEqual([[], [generations[0]?.spanId]]);
  expect(new Set(own.map((span) => span.traceId))).toEqual(new Set([generations[0]?.traceId]));

  expect([...collector.metrics].sort()).toEqual([
    "leasefold.leader.polls",
    "leasefold.leader.terms",
    "leasefold.queue.wait",
    "leasefold.run.duration",
    "leasefold.runs.active",
    "leasefold.work.duration",
  ]);
  expect(new Set(collector.paths)).toEqual(new Set(["/v1/traces", "/v1/metrics"]));
  expect((await loadsOf()).some((url) => url.endsWith("/telemetry.cjs"))).toBe(true);
  const line = app.events.map((event) => JSON.stringify(event)).find((text) => text.includes("run-ended"));
  expect(line).toContain(traceId);
});

test("without a collector an instance loads nothing of OpenTelemetry", async () => {
  const app = await startRealApp({ instances: 1, calculations, env: noting() });
  await using _ = { [Symbol.asyncDispose]: () => app.stop() };
  await submit(app, "r");
  const loads = await loadsOf();
  expect(loads.some((url) => url.endsWith("/dist/index.cjs"))).toBe(true);
  expect(loads.filter((url) => /telemetry|opentelemetry/.test(url))).toEqual([]);
});
