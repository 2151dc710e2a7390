import * as z from "zod";
import { decodeJson, wireVersion } from "./decode.ts";
import type { Work } from "./names.ts";

/**
 * What the queues `packs`, `urgent` and `wake` carry: JSON, a few hundred bytes. Never a key that the Functions
 * host uses for its own metadata (`id`, `dequeueCount`, `insertionTime`, `expirationTime`, `nextVisibleTime`,
 * `popReceipt`, `queueTrigger`, `sys`), because the host overwrites one with the other; a test holds this.
 */
const count = z.int().nonnegative();
const common = {
  v: z.literal(wireVersion),
  run: z.string(),
  uid: z.string(),
  gen: z.int().positive(),
  send: z.int().positive(),
  turn: count,
};

const workMessageSchema = z.discriminatedUnion("kind", [
  z.object({ ...common, kind: z.literal("plan") }),
  z.object({ ...common, kind: z.literal("compute"), shard: count, pack: count, from: count, to: count }),
  /** Folds the packs of a shard. `members` is the bitmap of packs to fold, absent when all of them. */
  z.object({
    ...common,
    kind: z.literal("combine"),
    level: z.int().positive(),
    index: count,
    members: z.string().optional(),
  }),
  /** Folds everything and writes the result. `members` as above where packs are folded directly; `childGens` gives
   *  the generation of each node where they differ from `gen`. */
  z.object({
    ...common,
    kind: z.literal("finish"),
    members: z.string().optional(),
    childGens: z.array(z.int().positive()).optional(),
  }),
  /** Deletes the partials of one shard and its node; obeyed only if a complete manifest exists. */
  z.object({ ...common, kind: z.literal("cleanup"), shard: count }),
]);
export type WorkMessage = z.infer<typeof workMessageSchema>;
export type MessageOf<Kind extends WorkMessage["kind"]> = Extract<WorkMessage, { kind: Kind }>;

export const encodeMessage = (message: WorkMessage): string => JSON.stringify(message);
/** Throws `NewerVersionError` or `CorruptDataError`. */
export const decodeMessage = (text: string): WorkMessage =>
  decodeJson(workMessageSchema, text, "the message");

/** A wake only asks for a tick now; its content is for people who peek. */
export const encodeWake = (from: string): string => JSON.stringify({ v: wireVersion, kind: "wake", from });

/** Who sends the wake that surfaces when a leader dies. */
export const wakeFromLeader = "leader";

/** The piece of work that a message's send belongs to; none for clean-up, which nobody waits for. */
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
      return undefined;
  }
}
