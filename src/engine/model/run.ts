import * as z from "zod";
import { count, idSchema, ms, positive, sha256Pattern, versioned } from "./decode.ts";
import { actorSchema, tagsSchema } from "./labels.ts";
import { limits } from "./limits.ts";
import { priorities } from "./priority.ts";
import { contentTypeSchema, notesSchema, resultBlobSchema } from "./resultType.ts";
import { versions } from "./versions.ts";

/** The documents of a run that are written once: its request, its plan, its results and failures. */

export const rangeSchema = z.object({ from: count, to: count });
const sha256 = z.string().regex(sha256Pattern);

/** Failed chunks that a run tolerates: a number, or a share in percent. */
export const toleranceSchema = z.union([
  z.object({ chunks: count }),
  z.object({ percent: z.number().min(0).max(100) }),
]);
export type Tolerance = z.infer<typeof toleranceSchema>;

/** How many failed chunks a run may end with. */
export function toleratedChunks(tolerate: Tolerance | undefined, chunks: number): number {
  if (tolerate === undefined) return 0;
  if ("chunks" in tolerate) return tolerate.chunks;
  // Binary fractions: 29 % of 100 would be 28.999….
  return Math.floor((tolerate.percent * chunks) / 100 + 1e-6);
}

/** Of a calculation; `registry.ts` allows 40 characters. A longer one comes from no client of ours, and lists would show it. */
const name = z.string().max(100);

/** `{id}/spec.json`, create-only: what the user asked for. */
export const specSchema = z.object({
  v: z.literal(versions.spec),
  run: idSchema,
  uid: idSchema,
  calculation: name,
  /** Validated by the calculation's schema, with defaults. */
  params: z.unknown(),
  /** The parameters as given, if the schema changed them: workers check these. */
  given: z.unknown().optional(),
  /** Identity of the code that validated them, see `identity.ts`. */
  code: z.string().optional(),
  /** Chunks per pack, if the user pinned it. */
  packSize: positive.optional(),
  /** Packs that are computed at once, as the user expects; no part of the request, as the result is the same. */
  workers: positive.optional(),
  tolerate: toleranceSchema.optional(),
  /** Time limit of one attempt, if less than the app's. */
  packLimitMs: positive.optional(),
  /** Attempts of work that throws; `limits.attemptsDefault` by default. */
  attempts: positive.optional(),
  /** Pauses between these, in seconds; `backOff.pausesDefaultS` by default. No part of the request: its result is the same. */
  retryAfterS: z.array(count).min(1).optional(),
  /** Counts from when a leader first sees the run or its retry, pauses included. Then the run fails, or with `keep`
   *  finishes with the packs that are done. */
  deadline: z.object({ ms: positive, keep: z.boolean() }).optional(),
  /**
   * The run whose partials are copied where they have the same key, and the other code of which they may be (rule *reuse*). No part
   * of the request but for that code: else its result is the same without.
   */
  reuse: z.object({ run: idSchema, uid: idSchema, codes: z.array(z.string()).optional() }).optional(),
  /** What it has of the workers beside other runs. No part of the request. */
  priority: z.enum(priorities).optional(),
  /** Its partials stay when it is complete, for the runs after it. No part of the request. */
  keepPartials: z.literal(true).optional(),
  /** No part of the request either. */
  tags: tagsSchema.optional(),
  /** Who submitted it. */
  by: actorSchema.optional(),
  /** The schedule that asked for it. No part of the request. */
  schedule: name.optional(),
  /** SHA-256 of the canonical request: the same id with another hash is another request. */
  requestHash: z.string(),
});
versioned("spec", specSchema, limits.requestBytesMax);
export type Spec = z.infer<typeof specSchema>;

/** How the plan cuts the run, see `packs.ts`. */
export const layoutSchema = z.object({
  chunks: count,
  packSize: positive,
  shardSize: positive,
  fanIn: positive.min(2).default(1000),
  /** Mean time of a pack, measured on samples, in ms. */
  packMs: ms,
  /** Packs that are computed at once, if the spec says so or processes were seen at work. */
  workers: positive.optional(),
  /** Chunks that a thread computes at the same time; absent: one. The cap then bounds chunks. */
  atOnce: positive.optional(),
  /** Memory in MB and threads of the instance that planned: its run's cost is estimated for instances like it. */
  instance: z.object({ mb: positive, threads: positive }).optional(),
  /** The calculation is asked about prefixes whether it stops there (`prefixes.ts`). */
  stops: z.literal(true).optional(),
});

/** `{id}/{uid}/plan.json`, create-only: the first planning attempt writes it. */
export const planSchema = z.object({
  v: z.literal(versions.plan),
  run: idSchema,
  uid: idSchema,
  /** Identity of the code that planned, see `identity.ts`: the same code computes. */
  code: z.string(),
  /** SHA-256 of the spec that was planned. */
  spec: sha256,
  ...layoutSchema.shape,
  /** The attempt whose segments hold the chunk inputs, and their SHA-256; absent if the plan is only a count. */
  segments: z.object({ attempt: idSchema, starts: z.array(count), sha256: z.array(sha256) }).optional(),
  /** Partials depend on the inputs of their chunks alone, not on where these are listed. */
  byInput: z.literal(true).optional(),
});
versioned("plan", planSchema);
export type Plan = z.infer<typeof planSchema>;

/** `{id}/{uid}/plan/{attempt}/{segment}`: inputs of the chunks from `from` on. */
export const segmentSchema = z.object({
  v: z.literal(versions.segment),
  from: count,
  inputs: z.array(z.unknown()),
});
versioned("segment", segmentSchema);

/** `{id}/{uid}/{gen}/manifest.json`, create-only: names the one result of a generation. */
export const manifestSchema = z.object({
  v: z.literal(versions.manifest),
  run: idSchema,
  uid: idSchema,
  generation: positive,
  calculation: name,
  requestHash: z.string(),
  /** SHA-256 of the spec and of the plan that were computed. */
  spec: sha256,
  plan: sha256,
  /** The attempt that wrote the result, and its blob in the results container. */
  attempt: idSchema,
  blob: resultBlobSchema,
  contentType: contentTypeSchema,
  bytes: count,
  /** Hex SHA-256 of the result's bytes. */
  sha256: z.string(),
  chunks: count,
  folded: count,
  packs: count,
  /** True if every chunk was folded; otherwise `missing` lists the other chunk ranges. */
  complete: z.boolean(),
  missing: z.array(rangeSchema),
  /** The calculation stopped after these chunks; the plan has so many. Absent: it was not asked, or never stopped. */
  stopped: z.object({ of: count }).optional(),
  /** Identities of the code that computed, folded and finished. Several only where the run takes partials of other code. */
  code: z.array(z.string()).default([]),
  /** Partials of several identities are folded into this result, because the request asked for it. */
  mixed: z.boolean().optional(),
  /** What the calculation says of its result, such as how many records it left out. */
  notes: notesSchema.optional(),
  /** Attempts of the folded packs together; one per pack without retries, none for those copied from another run. */
  attempts: count.default(0),
  /** Terms that led the run, oldest first. */
  terms: z.array(z.object({ term: positive, holder: z.string() })).default([]),
  /** Those of the run. */
  tags: tagsSchema.optional(),
});
versioned("manifest", manifestSchema);
export type Manifest = z.infer<typeof manifestSchema>;

/** `{id}/{uid}/answers/{tag}`, create-only: an answer of an active run, or why there is none. */
export const answerSchema = z.discriminatedUnion("ok", [
  z.object({
    v: z.literal(versions.answer),
    ok: z.literal(true),
    run: idSchema,
    uid: idSchema,
    generation: positive,
    /** The blob with the answer's bytes, in the results container. */
    blob: resultBlobSchema,
    contentType: contentTypeSchema,
    bytes: count,
    sha256: z.string(),
    chunks: count,
    folded: count,
    /** Chunk ranges that the answer covers, ascending. */
    covers: z.array(rangeSchema),
  }),
  z.object({ v: z.literal(versions.answer), ok: z.literal(false), code: z.string(), message: z.string() }),
]);
versioned("answer", answerSchema);
export type Answer = z.infer<typeof answerSchema>;

/** A chunk that a partial lacks, and why. */
export const failedChunkSchema = z.object({ chunk: count, code: z.string(), message: z.string() });

/**
 * `{id}/{uid}/failed/…`, create-only: how a send ended without output. A `.tried` note has the same form: it records the
 * latest attempt that threw while its send has attempts left.
 */
export const failureSchema = z.object({
  v: z.literal(versions.failure),
  /**
   * `error`: an attempt ended with it. `storage-lost`: stored bytes that it needs are gone. `unreported`: no worker says how the
   * send ended. The code then says what is known: `process-ended`, its process died while nothing else ran there; `lost`, it died
   * beside other work, or no process had the message any more; `poison`, the host moved the message to a poison queue.
   */
  cause: z.enum(["error", "unreported", "storage-lost"]),
  /** Stable code, such as `calculation-threw` or `time-limit`. */
  code: z.string(),
  message: z.string(),
  /** Attempts made, and how many the run allows. */
  attempts: count,
  attemptsMax: count.optional(),
  /** Every attempt would fail in the same way, so there is no retry. */
  final: z.boolean().optional(),
  /** Of a note: its message is hidden for so long from now on. */
  laterS: count.optional(),
  /** Chunks concerned; absent for plan, combine and finish. */
  chunks: rangeSchema.optional(),
  /** The message tells these chunks; else they are those of the whole pack. */
  named: z.literal(true).optional(),
  /** The one of them at which the send ended with its thread, where that is known. */
  chunk: count.optional(),
  /** Where the others of its pack have a partial: how many chunks failed, and why the first of them did (rule *failed chunks*). */
  gaps: z
    .object({
      failed: count,
      first: z.array(failedChunkSchema),
    })
    .optional(),
});
versioned("failure", failureSchema);
export type Failure = z.infer<typeof failureSchema>;
