import * as z from "zod";
import { noCalls } from "./calls.ts";
import { idSchema, wireVersion } from "./decode.ts";

/**
 * `{id}/{uid}/state.json`: what the leader knows and has decided about a run. One If-Match chain, sealed by each
 * new term; whoever leads goes on from exactly here.
 */

export const phases = ["planning", "computing", "finishing", "complete", "failed", "cancelled"] as const;
export type Phase = (typeof phases)[number];

/** The table of legal moves within a generation; a phase without moves is final. */
export const phaseMoves: Readonly<Record<Phase, readonly Phase[]>> = {
  /** A run of no chunks has nothing to compute. */
  planning: ["computing", "finishing", "failed", "cancelled"],
  computing: ["finishing", "complete", "failed", "cancelled"],
  finishing: ["complete", "failed"],
  complete: [],
  failed: [],
  cancelled: [],
};

export const isFinal = (phase: Phase): boolean => phaseMoves[phase].length === 0;

const count = z.int().nonnegative();
const ms = z.number().nonnegative();

/**
 * Sends of one piece of work: number of the latest, when (storage's time), and how many were stragglers' resends.
 * Sends below `since` are not waited for: workers drop them unrecorded, or nothing was heard of them for longer than
 * the host can hide one. A record of theirs still counts.
 */
const sendsSchema = z.object({
  sends: z.int().positive(),
  atMs: ms,
  late: count.default(0),
  since: z.int().positive().default(1),
  /** The latest send was enqueued for certain, so a new leader need not send it. */
  sent: z.boolean().optional(),
  /** Processes died with it, so it is computed alone. */
  alone: z.boolean().optional(),
});
export type Sends = z.infer<typeof sendsSchema>;

const callsSchema = z.object({
  write: count,
  list: count,
  read: count,
  other: count,
  queue: count,
  delete: count,
});

const layoutSchema = z.object({
  chunks: count,
  packSize: z.int().positive(),
  shardSize: z.int().positive(),
  fanIn: z.int().min(2).default(1000),
  packMs: ms,
});

/** How many packs had ended when, done or failed, and what those done took together. */
const progressMarkSchema = z.object({ atMs: ms, ended: count, computeMs: ms });
export type ProgressMark = z.infer<typeof progressMarkSchema>;

export const stateSchema = z.object({
  v: z.literal(wireVersion),
  run: idSchema,
  uid: idSchema,
  /** The term that owns this state; ownership is equality of `termid`, never of `term` alone. */
  term: z.int().positive(),
  termid: z.string(),
  /** Grows by one with every write of other bytes within a term. */
  sequence: count,
  generation: z.int().positive(),
  phase: z.enum(phases),
  /** What of the marker was last seen, and what came of the last command. */
  paused: z.boolean(),
  /** Since when, storage's time. */
  pausedAtMs: ms.optional(),
  /** What is not done by now is given up, and the run finishes with the rest. */
  keep: z.boolean().optional(),
  turn: count,
  cap: z.int().positive(),
  command: count,
  answer: z.enum(["done", "too-late", "refused"]).optional(),
  /** Identity of the code that computes; absent until planned, and where the plan records none. */
  code: z.string().optional(),
  /** Identities whose partials count as well, because a retry asked to mix. */
  mix: z.array(z.string()).optional(),
  /** The generation that planned anew; absent for the first. Names of plan, partials and nodes go by it. */
  origin: z.int().positive().optional(),
  /** No instance at work has this code, and since when nothing was computed; see `refused.ts`. */
  otherCode: z.object({ wanted: z.string(), theirs: z.array(z.string()), sinceMs: ms }).optional(),
  layout: layoutSchema.optional(),
  /** Packs `[0, cursor)` were sent under this turn and generation, in that order, or had their partial before. */
  cursor: count,
  /** Number of the cursor's sends. A new turn raises it above every send before, and those do not count any more. */
  firstSend: z.int().positive().default(1),
  /** When they were sent: packs below `upTo` not after `atMs` (storage time). Batches long past are dropped. */
  batches: z.array(z.object({ upTo: count, atMs: ms })),
  /** Plan, nodes and finish under way, by `workName`. Recorded before they are sent. */
  tasks: z.record(z.string(), sendsSchema),
  /**
   * Packs in flight that are presumed begun: unfinished packs below `upTo` not after `atMs` (storage's time), pruned
   * as `batches` are. Empty until the first outcome tells how many run at once.
   */
  begun: z.array(z.object({ upTo: count, atMs: ms })).default([]),
  /** Packs from the cursor up to here may have been sent by a leader that died before it wrote so. */
  doubtUpTo: count.default(0),
  /** Packs sent again since the cursor sent them, by pack. */
  again: z.record(z.string(), sendsSchema),
  /**
   * Open shards: bitmaps of packs done and failed. `recount`: what the bitmap says is from an earlier turn or
   * generation; the shard is listed anew before anything of it is sent.
   */
  open: z.record(
    z.string(),
    z.object({ done: z.string(), failed: z.string().optional(), recount: z.literal(true).optional() }),
  ),
  /** Sealed shards: the members to fold, absent when all; the generation that sealed it; whether its node is there. */
  sealed: z.record(
    z.string(),
    z.object({ members: z.string().optional(), gen: z.int().positive().default(1), node: z.boolean() }),
  ),
  /** Nodes above the shards that were asked for, by `workName`: their generation, and whether they are there. */
  groups: z.record(z.string(), z.object({ gen: z.int().positive(), node: z.boolean() })).default({}),
  /** Packs sent under this turn and without an outcome. */
  inFlight: count.default(0),
  packsDone: count,
  chunksDone: count,
  packsFailed: count,
  chunksFailed: count,
  sentAgain: count,
  /** The latest durations of packs, for mean and p95, and the longest task of each kind. */
  durationsMs: z.array(ms),
  computeMs: ms,
  taskMsMax: z.record(z.string(), ms),
  /** Packs finished per second, smoothed. */
  rate: ms,
  /** What the time left is judged by: at most 32 marks of this generation, in a time without its pauses. */
  progress: z
    .object({ generation: z.int().positive(), turn: count, marks: z.array(progressMarkSchema) })
    .default({ generation: 1, turn: 0, marks: [] }),
  /** Calls of the leaders and those that workers reported. */
  calls: callsSchema,
  /** Terms that led this run, oldest first. */
  terms: z.array(z.object({ term: z.int().positive(), holder: z.string(), atMs: ms })),
  /** The latest attempt that failed while others of its work are still to come. */
  trying: z
    .object({ work: z.string(), code: z.string(), message: z.string(), attempts: count, attemptsMax: count })
    .optional(),
  createdMs: ms,
  /** When the latest retry began. */
  retriedMs: ms.optional(),
  updatedMs: ms,
  finishedMs: ms.optional(),
  /** Generations whose manifest did not fit what the leader had counted: their result is no answer. */
  refused: z.array(z.int().positive()).optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
});
export type State = z.infer<typeof stateSchema>;

/** The state of a run that no leader has seen before. */
export function firstState(of: {
  run: string;
  uid: string;
  generation: number;
  cap: number;
  nowMs: number;
}): State {
  return {
    v: wireVersion,
    run: of.run,
    uid: of.uid,
    term: 1,
    termid: "-",
    sequence: 0,
    generation: of.generation,
    phase: "planning",
    paused: false,
    turn: 0,
    cap: of.cap,
    command: 0,
    cursor: 0,
    firstSend: 1,
    batches: [],
    begun: [],
    doubtUpTo: 0,
    tasks: {},
    again: {},
    open: {},
    sealed: {},
    groups: {},
    inFlight: 0,
    packsDone: 0,
    chunksDone: 0,
    packsFailed: 0,
    chunksFailed: 0,
    sentAgain: 0,
    durationsMs: [],
    computeMs: 0,
    taskMsMax: {},
    rate: 0,
    progress: { generation: of.generation, turn: 0, marks: [] },
    calls: { ...noCalls },
    terms: [],
    createdMs: of.nowMs,
    updatedMs: of.nowMs,
  };
}

/** When a run's deadline passes, in storage's time. A retry starts it anew; pauses do not extend it. */
export const deadlineMs = (
  deadline: { readonly ms: number },
  { createdMs, retriedMs }: { readonly createdMs: number; readonly retriedMs?: number | undefined },
): number => (retriedMs ?? createdMs) + deadline.ms;
