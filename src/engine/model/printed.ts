import * as z from "zod";
import { count, countText, ms, parseJson, positiveText } from "./decode.ts";
import { versions } from "./versions.ts";

/**
 * What user code printed in one attempt: `printed/{work}/{tag}`, a line of JSON for each line. Metadata say who it was, and
 * how many lines more there were.
 */
export const printedLineSchema = z.object({
  /** Wall clock of the thread. */
  atMs: ms,
  level: z.enum(["debug", "info", "warn", "error"]),
  /** The chunk that was computed; absent beside chunks, as in `plan` or `merge`. */
  chunk: count.optional(),
  text: z.string(),
});
export type PrintedLine = z.infer<typeof printedLineSchema>;

/** Of one attempt, so that a loop that prints fills neither memory nor storage. */
export const printedLimits = {
  lines: 200,
  characters: 2_000,
  /** That reach the log of the process, of all lines. */
  streamCharacters: 1_000_000,
  /** Attempts of one run whose lines a process keeps. */
  attempts: 500,
} as const;

export interface Printed {
  readonly generation: number;
  /** `{send}-{delivery}-{random}`. */
  readonly attempt: string;
  readonly instance: string;
  /** Lines that were not kept. */
  readonly more: number;
  readonly lines: readonly PrintedLine[];
}

const metadataSchema = z.object({
  generation: positiveText,
  instance: z.string(),
  more: countText,
});

export const encodePrinted = ({ generation, instance, more, lines }: Omit<Printed, "attempt">) => ({
  body: lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
  metadata: { v: String(versions.printed), generation: `${generation}`, instance, more: `${more}` },
});

/** Lines that are none are left out, and no version is refused: people read them, and nothing depends on them. */
export function decodePrinted(
  metadata: Readonly<Record<string, string>>,
  body: string,
): Omit<Printed, "attempt"> | undefined {
  const about = metadataSchema.safeParse(metadata);
  if (!about.success) return undefined;
  const lines = body.split("\n").flatMap((line) => {
    try {
      return [printedLineSchema.parse(parseJson(line, "a line"))];
    } catch {
      return [];
    }
  });
  return { ...about.data, lines };
}
