import { hash } from "node:crypto";

/**
 * The trace that a run belongs to (www.w3.org/TR/trace-context). A submit may bring the context of its caller, which the spec
 * and messages keep. A run without one has a trace of its own, named by its uid, so every process knows it without a field.
 *
 * Not promised: that a trace is whole. A message that an older build enqueued again has lost the caller's context.
 */

/** What tells the trace of a piece of a run: a message does, and so do a state and its spec. `trace`: the caller's context. */
export interface Traced {
  readonly uid: string;
  readonly gen: number;
  readonly trace?: string | undefined;
}

const form = /^([\da-f]{2})-((?!0{32})[\da-f]{32})-((?!0{16})[\da-f]{16})-([\da-f]{2})(?=-|$)/;

/** A `traceparent` in the form of version 00 with no flag but `sampled`; undefined where it is none, as the standard asks. */
export function parseTraceparent(text: string | null | undefined): string | undefined {
  const [whole, version, traceId, spanId, flags = ""] = form.exec(text?.trim() ?? "") ?? [];
  if (whole === undefined || version === "ff") return undefined;
  if (version === "00" && whole !== text?.trim()) return undefined;
  return `00-${traceId}-${spanId}-0${Number.parseInt(flags, 16) & 1}`;
}

/** 32 hexadecimal digits. */
export const traceIdOf = ({ uid, trace }: Pick<Traced, "uid" | "trace">): string =>
  trace === undefined ? hash("sha256", uid).slice(0, 32) : trace.slice(3, 35);

/**
 * The span of one generation of a run, under which its attempts are. `sampled` is undefined where no caller has decided, and
 * then follows from the id of the trace, the same in every process.
 */
export function runSpanOf({ uid, gen, trace }: Traced) {
  return {
    traceId: traceIdOf({ uid, trace }),
    spanId: hash("sha256", `${uid}/${gen}`).slice(0, 16),
    caller: trace?.slice(36, 52),
    sampled: trace === undefined ? undefined : trace.endsWith("1"),
  };
}
