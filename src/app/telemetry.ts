import {
  type Attributes,
  type Context,
  diag,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  RandomIdGenerator,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { LogEvent } from "../engine/model/log.ts";
import { factsOf, instruments, type SpanFacts } from "./telemetryFacts.ts";

/**
 * Spans and metrics by OTLP (HTTP, JSON), made of the events of the log. A bundle of its own, `dist/telemetry.cjs`, which only an
 * app loads that has an endpoint: `functions/startTelemetry.ts`. Nothing is registered globally, so no library sends spans of its own.
 *
 * Not promised: delivery. What a collector does not take is dropped, and `warn` is told once in ten minutes.
 */
export interface Telemetry {
  take(event: LogEvent): void;
  /** Sends what is left. */
  end(): Promise<void>;
}

export interface TelemetryOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly instance: string;
  readonly version: string;
  readonly region?: string | undefined;
  readonly warn: (message: string) => void;
}

/** An exporter that fails does so with each batch. */
const warnEveryMs = 600_000;
const metricsEveryMs = 60_000;
const scope = "leasefold";
const kinds = { run: SpanKind.INTERNAL, submit: SpanKind.PRODUCER, attempt: SpanKind.CONSUMER };

export function openTelemetry({ env, instance, version, region, warn }: TelemetryOptions): Telemetry {
  tellErrors(warn);
  const about: Attributes = { "service.name": "leasefold", "service.version": version };
  about["service.instance.id"] = instance;
  if (region !== undefined) about["cloud.region"] = region;
  // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win.
  const resource = resourceFromAttributes(about).merge(detectResources({ detectors: [envDetector] }));
  const spans = wants(env, "TRACES") ? spanSender(env, version, resource) : undefined;
  const metrics = wants(env, "METRICS") ? measurer(env, version, resource) : undefined;
  return {
    take(event) {
      const { span, measurements } = factsOf(event, Date.now());
      if (span !== undefined) spans?.send(span);
      for (const one of measurements) metrics?.note(one);
    },
    end: async () => void (await Promise.allSettled([spans?.end(), metrics?.end()])),
  };
}

type Env = TelemetryOptions["env"];
type Resource = ReturnType<typeof resourceFromAttributes>;

const wants = (env: Env, signal: "TRACES" | "METRICS"): boolean =>
  env[`OTEL_${signal}_EXPORTER`] !== "none" &&
  Boolean(env["OTEL_EXPORTER_OTLP_ENDPOINT"] || env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`]);

function spanSender(env: Env, version: string, resource: Resource) {
  const ids = new RandomIdGenerator();
  // A run's span has the id by which its attempts, in other processes, name it as their parent.
  let next: { readonly traceId: string; readonly spanId?: string } | undefined;
  const provider = new TracerProvider({
    resource,
    sampler: new AlwaysOnSampler(),
    idGenerator: {
      generateTraceId: () => next?.traceId ?? ids.generateTraceId(),
      generateSpanId: () => next?.spanId ?? ids.generateSpanId(),
    },
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  });
  const tracer = provider.getTracer(scope, version);
  const isSampled = sampling(env);
  return {
    send(facts: SpanFacts): void {
      const { name, kind, traceId, spanId, parent, link, startMs, endMs, attributes, error } = facts;
      if (!(facts.sampled ?? isSampled(traceId))) return;
      const context = (id: string) => ({
        traceId,
        spanId: id,
        traceFlags: TraceFlags.SAMPLED,
        isRemote: true,
      });
      const under: Context =
        parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, context(parent));
      const links = link === undefined ? [] : [{ context: context(link) }];
      next = spanId === undefined ? { traceId } : { traceId, spanId };
      const options = { kind: kinds[kind], startTime: startMs, attributes, links };
      const span = tracer.startSpan(name, options, under);
      next = undefined;
      if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
      span.end(endMs);
    },
    end: () => provider.shutdown(),
  };
}

/** Of traces whose caller has not decided: by `OTEL_TRACES_SAMPLER`, and by the id alone, so that each process decides the same. */
function sampling(env: Env): (traceId: string) => boolean {
  const name = env["OTEL_TRACES_SAMPLER"] ?? "parentbased_always_on";
  if (name.endsWith("always_off")) return () => false;
  if (!name.endsWith("traceidratio")) return () => true;
  const ratio = Number(env["OTEL_TRACES_SAMPLER_ARG"] ?? 1);
  const sampler = new TraceIdRatioBasedSampler(Number.isFinite(ratio) ? ratio : 1);
  return (traceId) =>
    sampler.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED;
}

function measurer(env: Env, version: string, resource: Resource) {
  const every = Number(env["OTEL_METRIC_EXPORT_INTERVAL"]) || metricsEveryMs;
  const exportTimeoutMillis = Math.min(every, 30_000);
  const reader = new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter(),
    exportIntervalMillis: every,
    exportTimeoutMillis,
  });
  const provider = new MeterProvider({ resource, readers: [reader] });
  const meter = provider.getMeter(scope, version);
  const note = Object.fromEntries(
    Object.entries(instruments).map(([name, { kind, ...options }]) => {
      if (kind === "counter") {
        const counter = meter.createCounter(name, options);
        return [name, (value: number, attributes?: Attributes) => counter.add(value, attributes)];
      }
      const made =
        kind === "gauge"
          ? meter.createGauge(name, options)
          : meter.createHistogram(name, { ...options, advice });
      return [name, (value: number, attributes?: Attributes) => made.record(value, attributes)];
    }),
  );
  return {
    note: ({ name, value, attributes }: ReturnType<typeof factsOf>["measurements"][number]) =>
      note[name]?.(value, attributes),
    end: () => provider.shutdown(),
  };
}

/** Work takes from milliseconds to the limit of a pack, and a run hours. */
const advice = {
  explicitBucketBoundaries: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1_000, 3_600, 14_400, 86_400],
};

function tellErrors(warn: (message: string) => void): void {
  let toldMs = Number.NEGATIVE_INFINITY;
  const tell = (message: string): void => {
    if (performance.now() - toldMs < warnEveryMs) return;
    toldMs = performance.now();
    warn(message);
  };
  const silent = () => {};
  const logger = { error: tell, warn: tell, info: silent, debug: silent, verbose: silent };
  diag.setLogger(logger, { suppressOverrideMessage: true });
}
