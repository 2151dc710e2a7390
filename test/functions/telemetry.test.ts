import { afterEach, describe, expect, test } from "vitest";
import { openTelemetry } from "../../src/app/telemetry.ts";
import { factsOf } from "../../src/app/telemetryFacts.ts";
import { logEvents, traced } from "../../src/engine/model/log.ts";
import { runSpanOf, traceIdOf } from "../../src/engine/model/trace.ts";
import { startCollector } from "../support/collector.ts";

const about = { run: "r", uid: "u", kind: "compute", send: 1, attempt: 1, calculation: "c" };
const of = { uid: "u", gen: 1 };
const done = (work: string, more: object = {}) =>
  traced(logEvents.workDone({ ...about, work, ms: 250, outcome: "created", ...more }), of);
const failed = (work: string) =>
  traced(logEvents.workFailed({ ...about, work, ms: 5, code: "bad-input", message: "no", last: true }), of);
const spanOf = (event: Parameters<typeof factsOf>[0]) => factsOf(event, 10_000).span;

describe("an attempt", () => {
  test("is a span of its duration under its run, and a measurement", () => {
    const { span, measurements } = factsOf(done("3/17", { waitedMs: 40 }), 10_000);
    const { traceId, spanId: parent } = runSpanOf(of);
    expect(span).toMatchObject({ name: "compute", traceId, parent, startMs: 9_750, endMs: 10_000 });
    expect(span?.attributes).toEqual({
      "leasefold.run": "r",
      "leasefold.generation": 1,
      "leasefold.work": "3/17",
      "leasefold.pack": 17,
      "leasefold.send": 1,
      "leasefold.attempt": 1,
      "leasefold.queue.wait": 0.04,
      "leasefold.kind": "compute",
      "leasefold.calculation": "c",
      "leasefold.outcome": "created",
    });
    expect(measurements.map(({ name, value }) => [name, value])).toEqual([
      ["leasefold.work.duration", 0.25],
      ["leasefold.queue.wait", 0.04],
    ]);
  });

  test("that failed says why, and is counted by its code alone", () => {
    const { span, measurements } = factsOf(failed("0/1"), 10_000);
    expect(span).toMatchObject({ error: "no", attributes: { "error.type": "bad-input" } });
    expect(measurements).toMatchObject([{ attributes: { "error.type": "bad-input" } }]);
    const names = measurements.flatMap(({ attributes = {} }) => Object.keys(attributes));
    expect(names.sort()).toEqual([
      ...["error.type", "leasefold.calculation", "leasefold.kind", "leasefold.outcome"],
    ]);
  });

  test("at clean-up or a client's question is measured and is no span", () => {
    const asked = traced(logEvents.workDone({ ...about, kind: "verify", ms: 1, outcome: "created" }), of);
    expect(factsOf(asked, 0)).toMatchObject({ measurements: [{ name: "leasefold.work.duration" }] });
    expect(spanOf(asked)).toBeUndefined();
  });
});

test("a run of 131,072 packs sends 4,608 spans of packs, and one for each failed attempt", () => {
  let kept = 0;
  for (let pack = 0; pack < 2 ** 17; pack += 1) if (spanOf(done(`0/${pack}`)) !== undefined) kept += 1;
  expect(kept).toBe(1_024 + 7 * 512);
  expect(spanOf(done("0/1025"))).toBeUndefined();
  expect(spanOf(failed("0/1025"))).toBeDefined();
  expect(spanOf(done("node/1/1025"))).toBeUndefined();
});

test("a run is a span from its submit under its caller's, and a retry links to the generation before", () => {
  const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
  const ended = (gen: number) =>
    traced(
      logEvents.runEnded({
        run: "r",
        uid: "u",
        phase: "failed",
        ms: 10,
        packs: 3,
        sentAgain: 0,
        error: "no",
      }),
      { uid: "u", gen, trace, sinceMs: 7_000 },
    );
  const [first, second] = [1, 2].map((gen) => spanOf(ended(gen)));
  expect(first).toMatchObject({ parent: "00f067aa0ba902b7", sampled: false, startMs: 7_000, error: "no" });
  expect(first?.link).toBeUndefined();
  expect(second).toMatchObject({ parent: "00f067aa0ba902b7", link: first?.spanId });
});

describe("the sender", () => {
  const before = { ...process.env };
  afterEach(() => {
    process.env = { ...before };
  });
  const open = (env: Record<string, string>, warn: (message: string) => void = () => {}) => {
    // The exporters read the settings of the process.
    Object.assign(process.env, env);
    return openTelemetry({ env, instance: "one", version: "1", warn });
  };

  test("samples whole runs by a ratio, and two processes decide the same", async () => {
    await using collector = await startCollector();
    const sampler = { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" };
    const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...sampler };
    const both = [open(settings), open(settings)];
    const uids = Array.from({ length: 400 }, (_, index) => `uid${index}`);
    for (const uid of uids) for (const one of both) one.take({ ...done("0/1"), of: { uid, gen: 1 } });
    for (const one of both) await one.end();
    const counts = Map.groupBy(collector.spans, ({ traceId }) => traceId);
    expect([...counts.values()].every(({ length }) => length === 2)).toBe(true);
    expect(counts.size).toBeGreaterThan(50);
    expect(counts.size).toBeLessThan(150);
    expect(uids.map((uid) => traceIdOf({ uid }))).toEqual(expect.arrayContaining([...counts.keys()]));
  });

  test("sends metrics alone where traces are turned off", async () => {
    await using collector = await startCollector();
    const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_EXPORTER: "none" };
    const one = open(settings);
    one.take(done("0/1"));
    await one.end();
    expect(collector.paths).toEqual(["/v1/metrics"]);
  });

  test("warns once of a collector that is not there", async () => {
    const warned: string[] = [];
    const one = open(
      { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1", OTEL_EXPORTER_OTLP_TIMEOUT: "300" },
      (message) => warned.push(message),
    );
    one.take(done("0/1"));
    await one.end();
    expect(warned.length).toBe(1);
    expect(warned[0]).toContain("ECONNREFUSED");
  });
});
