import { type LeasefoldError, messageOf } from "../../model/errors.ts";

/**
 * What the log says of an error that a handler threw. Errors of Leasefold say all they have to say in their message,
 * or carry the stack of user code in `details`; a stranger's stack is shown to its author.
 */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return messageOf(error);
  // The app is a bundle of its own, and its classes are others than those here.
  const { retry, details } = error as Partial<LeasefoldError>;
  const ours = retry !== undefined && details !== undefined;
  return ours && details["stack"] === undefined ? error.message : (error.stack ?? error.message);
}
