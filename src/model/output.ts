import { type CallCounts, decodeCalls, encodeCalls } from "./calls.ts";

/**
 * What a partial or node tells about itself in its content type, which a plain list returns without reading it:
 * `application/json; ms=812; attempt=1; calls=2.0.3.0.0.0`.
 */
export interface OutputFacts {
  /** Time that a thread worked on it. */
  readonly ms: number;
  /** Which delivery of its message wrote it, from 1. */
  readonly attempt: number;
  /** Storage calls of that worker since its last report. */
  readonly calls: CallCounts;
}

export const outputContentType = (base: string, facts: OutputFacts): string =>
  `${base}; ms=${Math.round(facts.ms)}; attempt=${facts.attempt}; calls=${encodeCalls(facts.calls)}`;

/** Reads the facts back; what is absent or odd counts as nothing, since they are only ever statistics. */
export function parseOutputFacts(contentType: string): OutputFacts {
  const parameter = (name: string): string | undefined =>
    new RegExp(`;\\s*${name}=([^;\\s]+)`).exec(contentType)?.[1];
  const number = (text: string | undefined): number => {
    const value = Number(text ?? "0");
    return Number.isFinite(value) && value >= 0 ? value : 0;
  };
  return {
    ms: number(parameter("ms")),
    attempt: number(parameter("attempt")),
    calls: decodeCalls(parameter("calls")),
  };
}

/** The type without parameters. */
export const baseContentType = (contentType: string): string => contentType.split(";")[0]?.trim() ?? "";
