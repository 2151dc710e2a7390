import * as z from "zod";
import { billingClasses } from "../model/calls.ts";

/**
 * What an instance and its supervisor say to each other over the IPC channel. Both come from one build, but a
 * process is a door like any other: the supervisor decodes what it hears.
 */
const levels = ["trace", "debug", "information", "warning", "error", "critical"] as const;
export type LogLevel = (typeof levels)[number];

const count = z.number().int().min(0);
const callCounts = z.object(
  Object.fromEntries(billingClasses.map((one) => [one, count])) as Record<
    (typeof billingClasses)[number],
    typeof count
  >,
);

export const instanceMessageSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("ready"),
    /** Null in an app without HTTP functions. */
    httpPort: z.number().int().nullable(),
    functions: z.array(z.string()),
    /** Null for no limit: JSON knows no infinity. */
    functionTimeoutMs: z.number().nullable(),
  }),
  /** The instance could not start and is about to end. */
  z.object({ kind: z.literal("failed"), message: z.string() }),
  z.object({
    kind: z.literal("log"),
    level: z.enum(levels),
    /** Absent where the host itself, or the app outside of any function, speaks. */
    function: z.string().optional(),
    message: z.string(),
  }),
  z.object({ kind: z.literal("started"), invocation: z.string(), function: z.string() }),
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
    hostCalls: callCounts,
  }),
]);

export type InstanceMessage = z.infer<typeof instanceMessageSchema>;
export type Report = (message: InstanceMessage) => void;

/** The one thing a supervisor asks of an instance. */
export const stopRequestSchema = z.object({ kind: z.literal("stop") });
export type StopRequest = z.infer<typeof stopRequestSchema>;

/** Exit code of an instance that ended itself because an invocation passed `functionTimeout`. */
export const functionTimeoutExitCode = 124;
