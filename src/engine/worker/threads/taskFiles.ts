import type { FileAccess } from "../../calculation/files.ts";
import { CalculationError } from "../../model/errors.ts";
import type { Question, Reply } from "./threadTask.ts";
import { urgentFirst } from "./urgentFirst.ts";

type FileQuestion = Extract<Question, { readonly say: "list" | "read" }>;

/**
 * What one task may have open: 32 storage calls of at most 32 MB together. Further ones wait; a calculation that reads a
 * thousand files at once would otherwise fill the memory of the process that holds the lease.
 */
const callsAtOnce = 32;
const bytesPerCall = 1024 * 1024;

/** Calls as which a question counts: one for a list or a small read, eight for the largest piece of a file. */
const callsOf = (question: FileQuestion): number => {
  if (question.say === "list") return 1;
  return Math.min(callsAtOnce, Math.max(1, Math.ceil((question.to - question.from) / bytesPerCall)));
};

/**
 * Answers what one task asks of its files; the signal ends the calls of a task that is over. An error that a calculation
 * may catch is a reply too; any other is thrown.
 */
export function taskFiles(
  access: FileAccess,
  signal: AbortSignal,
): (question: FileQuestion) => Promise<Reply> {
  const slots = urgentFirst(callsAtOnce);
  return async (question) => {
    const calls = callsOf(question);
    await slots.take(false, calls);
    try {
      signal.throwIfAborted();
      if (question.say === "list")
        return { say: "listed", page: await access.list(question.source, question.cursor, signal) };
      const { file, from, to, spare } = question;
      const bytes = await access.read(file, from, to, signal, spare);
      // The memory moves to the thread, so it must hold these bytes and nothing else.
      return {
        say: "bytes",
        bytes: bytes.length === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes),
      };
    } catch (error) {
      if (!(error instanceof CalculationError)) throw error;
      return { say: "failed", code: error.code, message: error.message };
    } finally {
      slots.leave(calls);
    }
  };
}
