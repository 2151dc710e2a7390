import type { FileAccess } from "../../calculations/files.ts";
import { CalculationError } from "../../model/errors.ts";
import type { Question, Reply } from "./threadTask.ts";
import { urgentFirst } from "./urgentFirst.ts";

type FileQuestion = Extract<Question, { readonly say: "list" | "read" }>;

/**
 * Calls of one task that are under way: enough to fill a connection. What a calculation asks for beyond that waits, or
 * one that reads a thousand files at once would fill the memory of the process that holds the lease.
 */
const callsAtOnce = 4;

/**
 * Answers what one task asks of its files; the signal ends the calls of a task that is over. What a calculation may
 * catch and go on from is an answer too; anything else is thrown.
 */
export function taskFiles(
  access: FileAccess,
  signal: AbortSignal,
): (question: FileQuestion) => Promise<Reply> {
  const places = urgentFirst(callsAtOnce);
  return async (question) => {
    await places.take(false);
    try {
      signal.throwIfAborted();
      if (question.say === "list")
        return { say: "listed", page: await access.list(question.source, question.cursor, signal) };
      const bytes = await access.read(question.file, question.from, question.to, signal);
      // The memory moves to the thread, so it must hold these bytes and nothing else.
      return {
        say: "bytes",
        bytes: bytes.length === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes),
      };
    } catch (error) {
      if (!(error instanceof CalculationError)) throw error;
      return { say: "failed", code: error.code, message: error.message };
    } finally {
      places.leave();
    }
  };
}
