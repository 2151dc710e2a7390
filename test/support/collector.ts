import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface SeenSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly string[];
  readonly failed: boolean;
  /** Of the resource: the instance that sent it. */
  readonly instance: unknown;
}

interface Value {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
}
type Attributes = readonly { readonly key: string; readonly value: Value }[];
interface Body {
  readonly resourceSpans?: readonly {
    readonly resource: { readonly attributes: Attributes };
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly traceId: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
        readonly name: string;
        readonly startTimeUnixNano: string;
        readonly endTimeUnixNano: string;
        readonly attributes: Attributes;
        readonly links?: readonly { readonly spanId: string }[];
        readonly status: { readonly code?: number };
      }[];
    }[];
  }[];
  readonly resourceMetrics?: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly { readonly name: string }[] }[];
  }[];
}

/** Stands in for an OpenTelemetry collector: it takes OTLP as JSON over HTTP and keeps what it reads. */
export async function startCollector() {
  const spans: SeenSpan[] = [];
  const metrics = new Set<string>();
  const paths: string[] = [];
  const server = createServer(async (request, response) => {
    paths.push(request.url ?? "");
    const { resourceSpans = [], resourceMetrics = [] } = JSON.parse(await text(request)) as Body;
    for (const { resource, scopeSpans } of resourceSpans)
      for (const one of scopeSpans.flatMap((scope) => scope.spans))
        spans.push(seen(one, valuesOf(resource.attributes)["service.instance.id"]));
    for (const { scopeMetrics } of resourceMetrics)
      for (const { name } of scopeMetrics.flatMap((scope) => scope.metrics)) metrics.add(name);
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    metrics,
    paths,
    [Symbol.asyncDispose]: () => new Promise<void>((closed) => void server.close(() => closed())),
  };
}

type Sent = NonNullable<Body["resourceSpans"]>[number]["scopeSpans"][number]["spans"][number];

const seen = (span: Sent, instance: unknown): SeenSpan => ({
  traceId: span.traceId,
  spanId: span.spanId,
  ...(span.parentSpanId ? { parentSpanId: span.parentSpanId } : {}),
  name: span.name,
  startMs: Number(BigInt(span.startTimeUnixNano) / 1_000_000n),
  endMs: Number(BigInt(span.endTimeUnixNano) / 1_000_000n),
  attributes: valuesOf(span.attributes),
  links: (span.links ?? []).map(({ spanId }) => spanId),
  failed: span.status.code === 2,
  instance,
});

const valuesOf = (attributes: Attributes): Record<string, unknown> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ??
        value.doubleValue ??
        (value.intValue === undefined ? undefined : Number(value.intValue)),
    ]),
  );
