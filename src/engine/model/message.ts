import * as z from "zod";
import { count, decodeJson, idSchema, parseJson, positive, sha256Pattern, versioned } from "./decode.ts";
import { failedChunkSchema } from "./run.ts";
import type { Work } from "./runBlobs.ts";
import { versions } from "./versions.ts";

/**
 * Messages of the queues `packs`, `urgent` and `wake`: JSON of a few hundred bytes. They never use a key of the Functions
 * host's metadata (`id`, `dequeueCount`, `insertionTime`, `expirationTime`, `nextVisibleTime`, `popReceipt`,
 * `queueTrigger`, `sys`), because the host overwrites one with the other. A test checks this.
 */
const sha256 = z.string().regex(sha256Pattern);
const common = {
  v: z.literal(versions.message),
  run: idSchema,
  uid: idSchema,
  gen: positive,
  send: positive,
  turn: count,
  /** Earlier attempts of this send that threw. */
  tries: count.optional(),
  /** Attempts of this send that asked for a later one, and how long for, in seconds. */
  asks: z.object({ times: count, waitedS: count }).optional(),
  /** The work was already sent, or may have been: its output may exist. From the second send on it begins once a heartbeat tells so. */
  repeat: z.boolean().optional(),
  /** An earlier delivery of this send ended without a record. */
  silent: z.boolean().optional(),
  /** A process died with this work, so nothing else runs beside it. */
  isolated: z.boolean().optional(),
  /** Identity of the code that must do the work; absent: that of the plan. */
  code: z.string().optional(),
  /** SHA-256 of the spec and of the plan: a worker refuses any other. */
  spec: sha256.optional(),
  plan: sha256.optional(),
};

const workMessageSchema = z.discriminatedUnion("kind", [
  z.object({ ...common, kind: z.literal("plan") }),
  /** Chunks `[from, to)` of a pack. */
  z
    .object({
      ...common,
      kind: z.literal("compute"),
      shard: count,
      pack: count,
      from: count,
      to: count,
      /** The run's cap, where it is less than the chunks that the calculation computes at the same time. */
      atOnceMax: positive.optional(),
      /** Chunks that are not computed, since earlier sends ended at them (rule *failed chunks*). */
      excluded: z.array(failedChunkSchema).optional(),
    })
    .refine(({ from, to }) => to > from),
  /**
   * Folds the packs of a shard (level 1), or neighboring nodes of the level below. `members` is the bitmap of packs to fold
   * (absent: all); `childGens` gives the generation of each node if they differ from `gen`.
   */
  z.object({
    ...common,
    kind: z.literal("combine"),
    level: positive,
    index: count,
    members: z.string().optional(),
    childGens: z.string().optional(),
  }),
  /** Folds the top of the tree and writes the result; `members` if the top is the packs. */
  z.object({
    ...common,
    kind: z.literal("finish"),
    members: z.string().optional(),
    childGens: z.string().optional(),
    /** The run stopped after so many chunks: the fold of that prefix is finished. */
    stopped: count.optional(),
    /** For the manifest: who led so far. */
    terms: z.array(z.object({ term: positive, holder: z.string() })).optional(),
  }),
  /** Deletes the partials of one shard, or else all nodes; ignored unless a complete manifest exists. */
  z.object({
    ...common,
    kind: z.literal("cleanup"),
    shard: count.optional(),
    /** The folds of prefixes stay, for `verify`. */
    asked: z.literal(true).optional(),
  }),
  /**
   * From a client: folds the nodes of the shards in `nodes` (a bitmap; `childGens` as above, over all shards) and the
   * existing partials of the shards in `open`, and writes an answer under `tag`.
   */
  z.object({
    ...common,
    kind: z.literal("sofar"),
    tag: idSchema,
    nodes: z.string(),
    childGens: z.string().optional(),
    open: z.array(count),
    /** As in `finish`: the bitmap is of the shards of that prefix. */
    stopped: count.optional(),
  }),
  /**
   * From a client: recomputes a pack and writes the hash of its partial under `{tag}/{pack}`. With `stops` it asks again about
   * the prefix of that number, and the hash is that of its fold, or where the run stopped that of its result.
   */
  z.object({
    ...common,
    kind: z.literal("verify"),
    tag: idSchema,
    pack: count,
    /** What the calculation must say again. */
    stops: z.boolean().optional(),
  }),
]);
versioned("message", workMessageSchema);
export type WorkMessage = z.infer<typeof workMessageSchema>;
export type MessageOf<Kind extends WorkMessage["kind"]> = Extract<WorkMessage, { kind: Kind }>;

/** What a leader tells the worker of its own process, to which it hands a message without a queue. */
export interface LocalSend {
  readonly urgent: boolean;
  readonly calculation: string;
  /** Time that it takes; undefined: nobody knows, so that it must not wait for other work. */
  readonly expectedMs?: number | undefined;
  /** Nothing new begins once it has fired. */
  readonly stopping?: AbortSignal | undefined;
}

function parseOr(text: string): unknown {
  try {
    return parseJson(text, "the message");
  } catch {
    return undefined;
  }
}

export const encodeMessage = (message: WorkMessage): string => JSON.stringify(message);
/** Throws `OtherVersionError` or `CorruptDataError`. */
export const decodeMessage = (text: string): WorkMessage =>
  decodeJson(workMessageSchema, text, "the message");

/** The number of the attempt within its send that a message asks for. */
export const attemptOf = ({ tries = 0 }: Pick<WorkMessage, "tries">): number => tries + 1;

/** A wake only asks for a tick now; its content is for people who inspect the queue. */
export const encodeWake = (from: string): string =>
  JSON.stringify({ v: versions.message, kind: "wake", from });

const wakeSchema = z.object({ kind: z.literal("wake") });

/** Whether the text is a wake, of whatever version. */
export const isWake = (text: string): boolean => wakeSchema.safeParse(parseOr(text)).success;

/** Sender of the wake that becomes visible after a leader died. */
export const wakeFromLeader = "leader";

/** The piece of work that a message's send belongs to; undefined for clean-up and for requests of clients. */
export function workOf(message: WorkMessage): Work | undefined {
  switch (message.kind) {
    case "plan":
    case "finish":
      return { kind: message.kind };
    case "compute":
      return { kind: "pack", shard: message.shard, pack: message.pack };
    case "combine":
      return { kind: "node", level: message.level, index: message.index };
    case "cleanup":
    case "sofar":
    case "verify":
      return undefined;
  }
}
