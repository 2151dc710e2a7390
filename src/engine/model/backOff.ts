import * as z from "zod";
import { count, ms } from "./decode.ts";

/** How long work waits for its next attempt (rule *waits*). */
export const backOff = {
  /** Pauses before the second, third … attempt of a send; the last one holds for all that follow. */
  pausesDefaultS: [0, 1, 3, 9],
  pausesMax: 20,
  /** Attempts at work whose code is wrong: a `TypeError` and the like mostly throws each time. */
  programAttempts: 2,
  /** One pause, and all that user code asks for in one send: a queue hides a message for seven days at most
   *  (learn.microsoft.com/rest/api/storageservices/put-message). */
  waitMaxS: 86_400,
  /** Attempts of one send that end with asking for a later one; further ones count as attempts that threw. */
  asksMax: 1_000,
  /** A run of which all work waits for at least so long has no leader meanwhile: about what a term costs. */
  restMsMin: 30_000,
} as const;

/** Work in flight that waits: how much, when the first and the last of it is attempted, and why the first failed. */
export const waitsSchema = z.object({
  works: count,
  untilMs: ms,
  lastMs: ms,
  work: z.string(),
  code: z.string(),
  message: z.string(),
});
