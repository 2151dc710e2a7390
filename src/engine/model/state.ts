import * as z from "zod";
import { waitsSchema } from "./backOff.ts";
import { callCountsSchema, costSchema } from "./cost.ts";
import { count, dollarAmount, idSchema, ms, positive, sha256Pattern, versioned } from "./decode.ts";
import { historySchema } from "./labels.ts";
import { layoutSchema } from "./run.ts";
import { versions } from "./versions.ts";

/**
 * `{id}/{uid}/state.json`: what the leader knows and has decided about a run. Each write is conditional on the ETag of the
 * one before. Each new term takes over the state and continues from it.
 */

export const phases = ["planning", "computing", "finishing", "complete", "failed", "cancelled"] as const;
export type Phase = (typeof phases)[number];

/** The legal moves within a generation; a phase without moves is final. */
export const phaseMoves: Readonly<Record<Phase, readonly Phase[]>> = {
  /** A run of no chunks has nothing to compute. */
  planning: ["computing", "finishing", "failed", "cancelled"],
  computing: ["finishing", "complete", "failed", "cancelled"],
  finishing: ["complete", "failed"],
  complete: [],
  failed: [],
  cancelled: [],
};

/** A person or its max cost holds it up: nothing more is sent. */
export const isHeld = ({ paused, maxCostAtMs }: Pick<State, "paused" | "maxCostAtMs">): boolean =>
  paused || maxCostAtMs !== undefined;

export const isFinal = (phase: Phase): boolean => phaseMoves[phase].length === 0;

const sha256 = z.string().regex(sha256Pattern);

/** The sends of one piece of work, numbered from 1: each is one message, and all attempts that follow from it. */
const sendsSchema = z.object({
  /** The number of the latest send, and when it was decided, storage's time. */
  send: positive,
  sentMs: ms,
  /** How often its message counted as lost: taken, and had by nobody. */
  losses: count.default(0),
  /** Sends from this one on are to end before the work fails. Those before were lost, or workers drop them; their records still count. */
  awaitedFrom: positive.default(1),
  /** Since when the message of the latest send is in no queue any more. */
  takenMs: ms.optional(),
  /** Of a task: the message of the latest send was certainly enqueued, so a new leader need not send it. */
  enqueued: z.boolean().optional(),
  /** Processes died with this work, so it is computed alone in its process. */
  isolated: z.boolean().optional(),
});
export type Sends = z.infer<typeof sendsSchema>;

/** How many packs had ended (done or failed) at a time, and the total time of those done. */
const progressMarkSchema = z.object({ atMs: ms, ended: count, computeMs: ms });
export type ProgressMark = z.infer<typeof progressMarkSchema>;

const groupSchema = z.object({ gen: positive, node: z.boolean(), stops: z.boolean().optional() });

/** Whose it is, and what it was made of. */
const identity = {
  v: z.literal(versions.state),
  run: idSchema,
  uid: idSchema,
  /** SHA-256 of the spec by the marker or else as first read, and of the plan as the leader took it over. */
  spec: sha256.optional(),
  plan: sha256.optional(),
  /** Identity of the code that computes; absent until planned, or if the plan records none. */
  code: z.string().optional(),
  /** Identities whose partials count too: of the spec. */
  mix: z.array(z.string()).optional(),
  createdMs: ms,
  /** When the latest retry began. */
  retriedMs: ms.optional(),
  /** An earlier state of this run was lost, so nobody knows all terms that led it. */
  lost: z.boolean().optional(),
};

/** Who owns it: rule *state chain*. */
const owner = {
  /** The term that owns this state. Ownership is equality of `termid`, never of `term` alone. */
  term: positive,
  termid: z.string(),
  /** Grows by one with each write of changed bytes within a term. */
  sequence: count,
  updatedMs: ms,
  /** Terms that led this run, oldest first. */
  terms: z.array(z.object({ term: positive, holder: z.string(), atMs: ms })),
};

/** What the marker commands, as the leader took it over, and how far the run is: rule *markers*. */
const commanded = {
  generation: positive,
  phase: z.enum(phases),
  turn: count,
  command: count,
  answer: z.enum(["done", "too-late", "refused"]).optional(),
  cap: positive,
  /** Dollars: of the marker, or else the app's default when a leader first saw the run. */
  maxCost: dollarAmount.optional(),
  /** Since when the run is at its max cost and sends nothing more (rule *run limits*). */
  maxCostAtMs: ms.optional(),
  paused: z.boolean(),
  /** When the pause began, in storage's time. */
  pausedAtMs: ms.optional(),
  /** Packs that are not done by now are given up, and the run finishes without them. */
  keep: z.boolean().optional(),
  /** For readers only: the cursor when packs were given up, and by shard those known to have failed by then. All others were given up. */
  gaveUp: z.object({ cursor: count, failed: z.record(z.string(), z.string()) }).optional(),
  /** Who asked for what. */
  history: historySchema.optional(),
};

/** What was sent, and what is known of it: rules *send order*, *observation*, *judgement* and *takeover*. */
const sent = {
  layout: layoutSchema.optional(),
  /** Packs `[0, cursor)` were sent in this turn and generation, in that order, or already had their partial. */
  cursor: count,
  /** The number of the sends that the cursor makes. A new turn raises it above all earlier ones, which then no longer count. */
  cursorSend: positive.default(1),
  /** When they were sent: packs below `upTo` at or before `atMs` (storage's time). Old batches are dropped. */
  batches: z.array(z.object({ upTo: count, atMs: ms })),
  /** When workers had taken the first sends of the packs below `upTo` at the latest (storage's time). Pruned like `batches`. */
  taken: z.array(z.object({ upTo: count, atMs: ms })).default([]),
  /** Packs from the cursor up to here may have been sent by a leader that did not record them. */
  possiblySentUpTo: count.default(0),
  /** Plan, nodes and finish in progress, by `workName`; recorded before they are sent. */
  tasks: z.record(z.string(), sendsSchema),
  /** Packs whose latest send is not the cursor's, by pack: those that were resent. Also those that the cursor sent past the queue. */
  resent: z.record(z.string(), sendsSchema),
};

/** What has its outcome: rules *sealed shards* and *generations*. */
const outcomes = {
  /**
   * Open shards: bitmaps of packs done and failed. `recount`: the bitmap is from an earlier turn or generation, so the shard
   * must be listed before any of its packs is sent.
   */
  open: z.record(
    z.string(),
    z.object({
      done: z.string(),
      failed: z.string().optional(),
      /** How many chunks the partials of its packs lack (rule *failed chunks*). */
      gaps: count.optional(),
      recount: z.literal(true).optional(),
    }),
  ),
  /**
   * Sealed shards: the members to fold (absent: all), how many chunks their partials lack, the generation that sealed it,
   * and whether its node exists.
   */
  sealed: z.record(
    z.string(),
    z.object({
      members: z.string().optional(),
      gaps: count.optional(),
      gen: positive.default(1),
      node: z.boolean(),
    }),
  ),
  /** Requested nodes above the shards, by `workName`: their generation, and whether they exist. Of prefixes: what `stop` said. */
  groups: z.record(z.string(), groupSchema).default({}),
  /** The run stopped after the chunks of `layout`; its plan has so many. */
  stopped: z.object({ of: count }).optional(),
};

/** What the bitmaps say; see `tally`. */
const counts = {
  /** Packs sent in this turn that have no outcome. */
  inFlight: count.default(0),
  packsDone: count,
  chunksDone: count,
  packsFailed: count,
  /** Those of failed packs, and those that partials lack. */
  chunksFailed: count,
};

/** How long things take, for the pace of the leader and for readers. */
const pace = {
  resends: count,
  /** The latest durations of packs, for mean and p95, and the longest task of each kind. */
  durationsMs: z.array(ms),
  /** Packs that were computed in this generation, and their time together. Absent: all that are done. */
  packsComputed: count.optional(),
  computeMs: ms,
  taskMsMax: z.record(z.string(), ms),
  /** Packs finished per second, smoothed. */
  rate: ms,
  /** What the remaining time is estimated from: at most 32 marks of this generation, in time without pauses. */
  progress: z
    .object({ generation: positive, turn: count, marks: z.array(progressMarkSchema) })
    .default({ generation: 1, turn: 0, marks: [] }),
  /** How long leaders led the run in each phase, in ms, and their polls; a leader of several runs counts its time in equal parts. */
  led: z
    .object({ planning: ms, computing: ms, finishing: ms, polls: count })
    .default({ planning: 0, computing: 0, finishing: 0, polls: 0 }),
  /** Attempts at packs that ended without an output, and about how long they took. */
  wasted: z.object({ attempts: count, ms }).default({ attempts: 0, ms: 0 }),
  /** What ended generations took and cost, oldest first; the first may be of several. The figures above are of the present one. */
  earlier: z
    .array(z.object({ generation: positive, tookMs: ms, calls: callCountsSchema, cost: costSchema }))
    .optional(),
};

/** For readers: what holds the run up, and how it ended. */
const told = {
  /** The latest failed attempt of work that has attempts left. */
  trying: z
    .object({ work: z.string(), code: z.string(), message: z.string(), attempts: count, attemptsMax: count })
    .optional(),
  waits: waitsSchema.optional(),
  /** The run that has the workers while this one has hardly anything of its share. */
  behind: idSchema.optional(),
  /** The code that no active instance has, and since when nothing was computed; see `refused.ts`. */
  otherCode: z.object({ needed: z.string(), theirs: z.array(z.string()), sinceMs: ms }).optional(),
  finishedMs: ms.optional(),
  /** Generations whose manifest differed from the leader's counts: their result is invalid. */
  refused: z.array(positive).optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
};

export const stateSchema = z.object({
  ...identity,
  ...owner,
  ...commanded,
  ...sent,
  ...outcomes,
  ...counts,
  ...pace,
  ...told,
});
versioned("state", stateSchema);
export type State = z.infer<typeof stateSchema>;

/** The state of a run that no leader has seen before. */
export function firstState(
  of: Pick<State, "run" | "uid" | "generation" | "cap"> & { readonly nowMs: number },
): State {
  return {
    v: versions.state,
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
    cursorSend: 1,
    batches: [],
    taken: [],
    possiblySentUpTo: 0,
    tasks: {},
    resent: {},
    open: {},
    sealed: {},
    groups: {},
    inFlight: 0,
    packsDone: 0,
    chunksDone: 0,
    packsFailed: 0,
    chunksFailed: 0,
    resends: 0,
    durationsMs: [],
    computeMs: 0,
    taskMsMax: {},
    rate: 0,
    progress: { generation: of.generation, turn: 0, marks: [] },
    led: { planning: 0, computing: 0, finishing: 0, polls: 0 },
    wasted: { attempts: 0, ms: 0 },
    terms: [],
    createdMs: of.nowMs,
    updatedMs: of.nowMs,
  };
}

/** When a run's deadline passes, in storage's time. A retry restarts it; pauses do not extend it. */
export const deadlineMs = (
  deadline: { readonly ms: number },
  { createdMs, retriedMs }: Pick<State, "createdMs" | "retriedMs">,
): number => (retriedMs ?? createdMs) + deadline.ms;
