import type { LogEvent } from "../engine/model/log.ts";
import { parseWorkName, type Work } from "../engine/model/runBlobs.ts";
import { runSpanOf, type Traced } from "../engine/model/trace.ts";

/**
 * What an event of the log is as a span and as metrics; most are neither. A run is one trace: a generation is a span, and under
 * it are the submit over HTTP and the attempts at plan, packs, nodes and result. A retry links to the generation before.
 *
 * Not promised: a span of each attempt, see `isKept`. An attempt whose process was killed has none.
 */
export interface SpanFacts {
  readonly name: string;
  readonly kind: "run" | "submit" | "attempt";
  readonly traceId: string;
  /** Drawn where it is absent. */
  readonly spanId?: string;
  readonly parent?: string | undefined;
  readonly link?: string;
  /** Undefined where no caller has decided. */
  readonly sampled: boolean | undefined;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly error?: string;
}

type Attributes = Readonly<Record<string, string | number>>;

/** Names and units as OpenTelemetry asks for; attributes are of a few values each, never a run or a pack. */
export const instruments = {
  "leasefold.work.duration": { kind: "histogram", unit: "s", description: "Attempts at work, by kind" },
  "leasefold.queue.wait": {
    kind: "histogram",
    unit: "s",
    description: "From the send of a message to its attempt",
  },
  "leasefold.run.duration": { kind: "histogram", unit: "s", description: "Runs that ended, by phase" },
  "leasefold.runs.active": { kind: "gauge", unit: "{run}", description: "Open runs, told by the leader" },
  "leasefold.leader.polls": {
    kind: "counter",
    unit: "{poll}",
    description: "Lists of the open runs by a leader",
  },
  "leasefold.leader.terms": { kind: "counter", unit: "{term}", description: "Terms that began" },
} as const;

interface Measurement {
  readonly name: keyof typeof instruments;
  readonly value: number;
  readonly attributes?: Attributes;
}

interface TelemetryFacts {
  readonly span?: SpanFacts;
  readonly measurements: readonly Measurement[];
}

type Fields = LogEvent["fields"];

export function factsOf({ event, fields, of }: LogEvent, nowMs: number): TelemetryFacts {
  switch (event) {
    case "work-done":
    case "work-failed":
      return of === undefined ? none : attemptFacts(fields, of, nowMs);
    case "run-submitted":
      return of === undefined ? none : { span: submitSpan(fields, of, nowMs), measurements: [] };
    case "run-ended":
      return of === undefined ? none : runFacts(fields, of, nowMs);
    case "leading": {
      const { runs, polls } = fields;
      const counted = { name: "leasefold.leader.polls", value: Number(polls) } as const;
      return { measurements: [{ name: "leasefold.runs.active", value: Number(runs) }, counted] };
    }
    case "lease-claimed":
      return { measurements: [{ name: "leasefold.leader.terms", value: 1 }] };
    default:
      return none;
  }
}

const none: TelemetryFacts = { measurements: [] };

function attemptFacts(fields: Fields, of: Traced, nowMs: number): TelemetryFacts {
  const { kind, calculation, work, send, attempt, ms, waitedMs, code, message } = fields;
  const outcome = code === undefined ? String(fields["outcome"]) : "failed";
  const error = code === undefined ? undefined : String(code);
  const about = defined({ "leasefold.kind": kind, "leasefold.calculation": calculation });
  const result = defined({ "leasefold.outcome": outcome, "error.type": error });
  const seconds = { value: Number(ms) / 1_000, attributes: { ...about, ...result } };
  const measurements: Measurement[] = [{ name: "leasefold.work.duration", ...seconds }];
  if (waitedMs !== undefined)
    measurements.push({ name: "leasefold.queue.wait", value: Number(waitedMs) / 1_000, attributes: about });
  const piece = work === undefined ? undefined : parseWorkName(String(work));
  // Clean-up and the questions of clients are no part of the run's trace.
  if (piece === undefined || (error === undefined && !isKept(piece))) return { measurements };
  const { traceId, spanId: parent, sampled } = runSpanOf(of);
  const queueS = waitedMs === undefined ? undefined : Number(waitedMs) / 1_000;
  const attributes = {
    ...defined({ "leasefold.run": fields["run"], "leasefold.generation": of.gen, "leasefold.work": work }),
    ...defined({ "leasefold.pack": piece.kind === "pack" ? piece.pack : undefined }),
    ...defined({ "leasefold.send": send, "leasefold.attempt": attempt, "leasefold.queue.wait": queueS }),
    ...about,
    ...result,
  };
  const times = { startMs: nowMs - Number(ms), endMs: nowMs };
  const failure = error === undefined ? {} : { error: String(message) };
  const span = {
    name: String(kind),
    kind: "attempt",
    traceId,
    parent,
    sampled,
    ...times,
    attributes,
  } as const;
  return { span: { ...span, ...failure }, measurements };
}

/**
 * Attempts at the first 1,024 packs are spans, and then at every second, fourth and so on: 512 of each doubling, 6,144 of a
 * million packs. The same holds for nodes of a level. A failed attempt is a span whatever its index.
 */
function isKept(work: Work): boolean {
  const index = work.kind === "pack" ? work.pack : work.kind === "node" ? work.index : 0;
  return index < 1_024 || index % 2 ** (Math.floor(Math.log2(index)) - 9) === 0;
}

function submitSpan({ run, ms }: Fields, of: Traced, nowMs: number): SpanFacts {
  const { traceId, spanId: parent, sampled } = runSpanOf(of);
  const attributes = defined({ "leasefold.run": run });
  const times = { startMs: nowMs - Number(ms), endMs: nowMs };
  return { name: "submit", kind: "submit", traceId, parent, sampled, ...times, attributes };
}

function runFacts(fields: Fields, of: NonNullable<LogEvent["of"]>, nowMs: number): TelemetryFacts {
  const { run, calculation, phase, packs, sentAgain, dollars, tags, error } = fields;
  const { sinceMs = nowMs - Number(fields["ms"]), gen } = of;
  const { caller: parent, ...span } = runSpanOf(of);
  const about = defined({ "leasefold.calculation": calculation, "leasefold.phase": phase });
  const attributes = {
    ...defined({ "leasefold.run": run, "leasefold.generation": gen, "leasefold.tags": tags }),
    ...defined({ "leasefold.packs": packs, "leasefold.resends": sentAgain, "leasefold.dollars": dollars }),
    ...about,
  };
  const times = { startMs: Math.min(sinceMs, nowMs), endMs: nowMs };
  const link = gen > 1 ? { link: runSpanOf({ ...of, gen: gen - 1 }).spanId } : {};
  const failure = error === undefined ? {} : { error: String(error) };
  return {
    span: { name: "run", kind: "run", ...span, parent, ...link, ...times, attributes, ...failure },
    measurements: [
      { name: "leasefold.run.duration", value: (nowMs - times.startMs) / 1_000, attributes: about },
    ],
  };
}

const defined = (fields: Fields): Attributes =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === "boolean" ? String(value) : value]],
    ),
  );
