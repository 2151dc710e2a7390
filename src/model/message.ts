import * as z from "zod";
import { decodeJson, idSchema, wireVersion } from "./decode.ts";
import type { Work } from "./runBlobs.ts";

/**
 * What the queues `packs`, `urgent` and `wake` carry: JSON, a few hundred bytes. Never a key that the Functions
 * host uses for its own metadata (`id`, `dequeueCount`, `insertionTime`, `expirationTime`, `nextVisibleTime`,
 * `popReceipt`, `queueTrigger`, `sys`), because the host overwrites one with the other; a test holds this.
 */
const count = z.int().nonnegative();
const common = {
  v: z.literal(wireVersion),
  run: idSchema,
  uid: idSchema,
  gen: z.int().positive(),
  send: z.int().positive(),
  turn: count,
  /** Attempts of this send that threw before. */
  tries: count.optional(),
  /** The work was sent before under this turn: its output may be there, and an attempt notes that it begins. */
  repeat: z.boolean().optional(),
  /** An earlier delivery of this send ended without a word. */
  silent: z.boolean().optional(),
  /** Processes died with this work, so nothing else runs beside it. */
  alone: z.boolean().optional(),
  /** Identity of the code that is to do it; absent: that of the plan. */
  code: z.string().optional(),
  /** Identities whose outputs are folded as well. */
  mix: z.array(z.string()).optional(),
  /** The generation whose plan it belongs to; absent: the first. */
  origin: z.int().positive().optional(),
};

const workMessageSchema = z.discriminatedUnion("kind", [
  z.object({ ...common, kind: z.literal("plan") }),
  z.object({ ...common, kind: z.literal("compute"), shard: count, pack: count, from: count, to: count }),
  /**
   * Folds the packs of a shard (level 1), or neighbouring nodes of the level below. `members` is the bitmap of packs
   * to fold, absent when all of them; `childGens` gives the generation of each node where they differ from `gen`.
   */
  z.object({
    ...common,
    kind: z.literal("combine"),
    level: z.int().positive(),
    index: count,
    members: z.string().optional(),
    childGens: z.string().optional(),
  }),
  /** Folds the top of the tree and writes the result; `members` where that is the packs themselves. */
  z.object({
    ...common,
    kind: z.literal("finish"),
    members: z.string().optional(),
    childGens: z.string().optional(),
    /** For the manifest: who led so far. */
    terms: z.array(z.object({ term: z.int().positive(), holder: z.string() })).optional(),
  }),
  /** Deletes the partials of one shard, or without one all nodes; obeyed only if a complete manifest exists. */
  z.object({ ...common, kind: z.literal("cleanup"), shard: count.optional() }),
  /**
   * From a client: folds the nodes of the shards in `nodes` (a bitmap; `childGens` as above, over all shards) and
   * what there is of the shards in `open`, and writes an answer under `tag`.
   */
  z.object({
    ...common,
    kind: z.literal("sofar"),
    tag: idSchema,
    nodes: z.string(),
    childGens: z.string().optional(),
    open: z.array(count),
  }),
  /** From a client: computes a pack again and writes the hash of its partial under `{tag}/{pack}`. */
  z.object({ ...common, kind: z.literal("verify"), tag: idSchema, pack: count }),
]);
export type WorkMessage = z.infer<typeof workMessageSchema>;
export type MessageOf<Kind extends WorkMessage["kind"]> = Extract<WorkMessage, { kind: Kind }>;

export const encodeMessage = (message: WorkMessage): string => JSON.stringify(message);
/** Throws `NewerVersionError` or `CorruptDataError`. */
export const decodeMessage = (text: string): WorkMessage =>
  decodeJson(workMessageSchema, text, "the message");

/** The number of the attempt within its send that a message asks for. */
export const attemptOf = ({ tries = 0 }: Pick<WorkMessage, "tries">): number => tries + 1;

/** A wake only asks for a tick now; its content is for people who peek. */
export const encodeWake = (from: string): string => JSON.stringify({ v: wireVersion, kind: "wake", from });

/** Who sends the wake that surfaces when a leader dies. */
export const wakeFromLeader = "leader";

/** The piece of work that a message's send belongs to; none for clean-up and for what clients ask. */
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
