import type { LogLine, Logs } from "../../../src/engine/client/logs.ts";

/** The newest lines that are kept; the CLI shows all. */
export const linesMax = 500;

/** An answer begins with the attempts of the second in which the one before ended. */
export function linesAfter(before: readonly LogLine[], { lines }: Pick<Logs, "lines">): readonly LogLine[] {
  const known = new Set(before.map(({ attempt }) => attempt));
  return [...before, ...lines.filter(({ attempt }) => !known.has(attempt))].slice(-linesMax);
}
