import { isUnreadable } from "../../src/engine/model/errors.ts";

/** Decodes, or throws one of the two errors that callers know; anything else is thrown on. */
export function decodes(decode: () => unknown): boolean {
  try {
    decode();
    return true;
  } catch (error) {
    if (isUnreadable(error)) return false;
    throw error;
  }
}
