import { LeasefoldError } from "../model/errors.ts";
import { identityHere, shownIdentity, type WantedCode } from "../model/identity.ts";
import type { WorkMessage } from "../model/message.ts";
import type { WorkerPorts } from "./ports.ts";

/** This process has other code than the work is for, or none. It says nothing about the work, which waits for others. */
export class OtherCodeError extends LeasefoldError {
  readonly wanted: string;
  /** What this process has. */
  readonly theirs: string | undefined;
  constructor(wanted: string, theirs: string | undefined) {
    const have = theirs === undefined ? "does not know that calculation" : `has ${shownIdentity(theirs)}`;
    super("other-code", `this is work for ${shownIdentity(wanted)}; this instance ${have}`, {
      retry: "later",
    });
    this.wanted = wanted;
    this.theirs = theirs;
  }
}

/**
 * The code that a message's work belongs to: what the message says, or else what its plan recorded. Throws
 * `OtherCodeError` where this process has other code. A pack that a client has computed again may be of any code that
 * its result mixes.
 */
export async function rightCode(ports: WorkerPorts, message: WorkMessage): Promise<WantedCode> {
  const { run, uid, kind, mix, origin } = message;
  const { calculation } = await ports.documents.spec(run, uid);
  const code =
    message.code ?? (kind === "plan" ? undefined : (await ports.documents.plan(run, uid, origin)).code);
  const own = identityHere(ports, calculation);
  const fits = code === undefined ? own !== undefined : own === code;
  const again = kind === "verify" && own !== undefined && mix?.includes(own);
  if (!fits && !again) throw new OtherCodeError(code ?? calculation, own);
  return { code, mix };
}
