import * as z from "zod";
import { callCountsSchema } from "../engine/model/cost.ts";

/** Messages between an instance and its supervisor over the IPC channel. The supervisor decodes what it receives. */
const levels = ["trace", "debug", "information", "warning", "error", "critical"] as const;
export type LogLevel = (typeof levels)[number];

const count = z.number().int().min(0);

/** A message that is hidden while an invocation runs for it, with the receipt that is valid now. */
const heldSchema = z.object({ queue: z.string(), id: z.string(), receipt: z.string() });
export type HeldMessage = z.infer<typeof heldSchema>;

export const instanceMessageSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("ready"),
    /** Whether it serves HTTP functions. */
    http: z.boolean(),
    /** Null for no limit: JSON knows no infinity. */
    functionTimeoutMs: z.number().nullable(),
    /** How long a failed message stays hidden. */
    visibilityTimeoutMs: count,
  }),
  /** The instance could not start and is about to end. */
  z.object({ kind: z.literal("failed"), message: z.string() }),
  /** The instance loads a calculation's file, whose own code blocks it. Any later `stats` says that it runs. */
  z.object({ kind: z.literal("loading"), file: z.string() }),
  z.object({
    kind: z.literal("log"),
    level: z.enum(levels),
    /** Absent in a line of the host itself, or of the app outside of any function. */
    function: z.string().optional(),
    message: z.string(),
  }),
  z.object({
    kind: z.literal("started"),
    invocation: z.string(),
    function: z.string(),
    /** What a queue function runs for. */
    held: heldSchema.optional(),
  }),
  /** The message of a running invocation has another receipt. */
  z.object({ kind: z.literal("renewed"), held: heldSchema }),
  z.object({
    kind: z.literal("ended"),
    invocation: z.string(),
    function: z.string(),
    ms: z.number(),
    ok: z.boolean(),
  }),
  z.object({
    kind: z.literal("stats"),
    /** Invocations running now. */
    running: count,
    /** The host's own storage calls so far, by billing class: polling, deletes, renewals, poison copies. */
    hostCalls: callCountsSchema,
  }),
]);

export type InstanceMessage = z.infer<typeof instanceMessageSchema>;
export type Report = (message: InstanceMessage) => void;

/**
 * All that a supervisor tells an instance: the secrets of its start, which an environment would show to user code in
 * /proc/self/environ; a connection to serve, whose socket comes with the message; to end.
 */
export const requestSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("begin"),
    /** Opens HTTP functions that are not anonymous. */
    functionKey: z.string().min(1),
    /** Settings that hold the key of the storage. */
    settings: z.record(z.string(), z.string()),
  }),
  z.object({ kind: z.literal("connection") }),
  z.object({ kind: z.literal("stop") }),
]);
export type InstanceRequest = z.infer<typeof requestSchema>;
