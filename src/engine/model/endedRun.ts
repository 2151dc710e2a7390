import * as z from "zod";
import type { ClosedRun } from "./closedRun.ts";
import { costSchema } from "./cost.ts";
import { count, idSchema, latestMs, positive } from "./decode.ts";
import { actorSchema, tagsSchema } from "./labels.ts";
import type { Manifest } from "./run.ts";

/**
 * The completion event of a run, once for each generation: the content of `_closed/{time}.{id}`, and of a message in the queue
 * of `LEASEFOLD_ENDED_QUEUE`. docs/OPERATIONS.md describes it. Fields may be added, and none is taken away.
 */
export const endedRunSchema = z.object({
  type: z.enum(["run.complete", "run.failed", "run.cancelled"]),
  /** When it ended. */
  timestamp: z.iso.datetime(),
  data: z.object({
    /** The same for each delivery of this event: `{uid}-{generation}`. */
    id: z.string(),
    run: idSchema,
    uid: idSchema,
    generation: positive,
    outcome: z.enum(["complete", "failed", "cancelled"]),
    /** Empty if the spec does not decode. */
    calculation: z.string(),
    tags: tagsSchema.optional(),
    /** Who submitted it. */
    by: actorSchema.optional(),
    /** When a leader first saw the run or its newest retry. */
    startedAt: z.iso.datetime(),
    endedAt: z.iso.datetime(),
    /** Absent if the run was never planned. */
    chunks: z.object({ total: count, done: count, failed: count }).optional(),
    /** The first ranges of chunks that the result lacks, at most 20. */
    gaps: z.array(z.object({ from: count, to: count })).optional(),
    /** The message is cut. */
    error: z.object({ code: z.string(), message: z.string() }).optional(),
    /** At list prices, as `run-ended` has it: an estimate. */
    cost: costSchema,
    /** Absent without one. `path` is that of the HTTP API. */
    result: z
      .object({
        path: z.string(),
        container: z.string(),
        blob: z.string(),
        contentType: z.string(),
        bytes: count,
        sha256: z.string(),
      })
      .optional(),
  }),
});
export type EndedRun = z.infer<typeof endedRunSchema>;

const gapsShown = 20;
/** As in lists. */
const [nameMax, messageMax] = [100, 500];
const isoOf = (ms: number): string => new Date(Math.min(ms, latestMs)).toISOString();

/** Always of a few KB, whatever the documents of the run hold. `results`: the container. */
export function endedRunOf(
  closed: ClosedRun,
  { createdMs, results, manifest }: { createdMs: number; results: string; manifest: Manifest | undefined },
): EndedRun {
  const { run, uid, generation, phase: outcome, calculation, tags, by, chunks, error } = closed;
  return {
    type: `run.${outcome}`,
    timestamp: isoOf(closed.finishedMs),
    data: {
      id: `${uid}-${generation}`,
      ...{ run, uid, generation, outcome, calculation: calculation.slice(0, nameMax), tags, by },
      startedAt: isoOf(closed.retriedMs ?? createdMs),
      endedAt: isoOf(closed.finishedMs),
      chunks: chunks && { total: chunks.total, done: chunks.done, failed: chunks.failed },
      gaps: manifest?.missing.length ? manifest.missing.slice(0, gapsShown) : undefined,
      error: error && { code: error.code.slice(0, nameMax), message: error.message.slice(0, messageMax) },
      cost: closed.cost,
      result: manifest && {
        path: `/api/runs/${run}/result?generation=${generation}`,
        container: results,
        ...{ blob: manifest.blob, contentType: manifest.contentType },
        ...{ bytes: manifest.bytes, sha256: manifest.sha256 },
      },
    },
  };
}
