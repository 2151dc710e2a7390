import { hash } from "node:crypto";
import { LeasefoldError } from "../../model/errors.ts";
import { identityHere, shownIdentity } from "../../model/identity.ts";
import { limits } from "../../model/limits.ts";
import type { WorkMessage } from "../../model/message.ts";
import type { AcceptedOutput } from "../../model/output.ts";
import { runBlobs } from "../../model/runBlobs.ts";
import { createOrReplace } from "../../storage/callSteps.ts";
import type { WorkerPorts } from "../ports.ts";
import { setLatest } from "../setLatest.ts";

/** This process has other code than the work is for, or none. The work itself is sound and waits for other instances. */
export class OtherCodeError extends LeasefoldError {
  readonly needed: string;
  /** What this process has. */
  readonly theirs: string | undefined;
  /** It was told to leave that calculation to others, which may have the code. */
  readonly leftToOthers: boolean;
  constructor(needed: string, theirs: string | undefined, { leftToOthers = false } = {}) {
    const unknown = leftToOthers ? "leaves that calculation to others" : "does not know that calculation";
    const have = theirs === undefined ? unknown : `has ${shownIdentity(theirs)}`;
    super("other-code", `this is work for ${shownIdentity(needed)}; this instance ${have}`, {
      retry: "later",
    });
    this.needed = needed;
    this.theirs = theirs;
    this.leftToOthers = leftToOthers;
  }
}

/**
 * The plan and the code that a message's work belongs to: what the message says, or else what its plan recorded. Throws
 * `OtherCodeError` where this process has other code.
 */
export async function rightCode(ports: WorkerPorts, message: WorkMessage): Promise<AcceptedOutput> {
  const { kind } = message;
  const { calculation, reuse } = await ports.documents.spec(message);
  const plan = kind === "plan" ? undefined : await ports.documents.plan(message);
  const code = message.code ?? plan?.code;
  const leftToOthers = isLeftToOthers(ports, calculation);
  const own = codeHere(ports, calculation);
  if (!fits(own, code)) throw new OtherCodeError(code ?? calculation, own, { leftToOthers });
  return { code, mix: reuse?.codes, plan: plan?.sha256 };
}

/** Whether this process computes the calculation by this code; undefined: by any. */
export const hasCode = (ports: CodePorts, calculation: string, code: string | undefined): boolean =>
  fits(codeHere(ports, calculation), code);

type CodePorts = Pick<WorkerPorts, "only" | "versionOf">;

const isLeftToOthers = ({ only }: CodePorts, calculation: string): boolean =>
  only?.has(calculation) === false;

const codeHere = (ports: CodePorts, calculation: string): string | undefined =>
  isLeftToOthers(ports, calculation) ? undefined : identityHere(ports, calculation);

const fits = (own: string | undefined, code: string | undefined): boolean =>
  code === undefined ? own !== undefined : own === code;

const notesKept = 256;

/**
 * All instances of one identity share a note for each generation of a run; its age tells the leader whether they still
 * enqueue its work again. Not promised: that a note is written. The next message that is enqueued again writes it.
 */
export function otherCodeNotes({
  storage,
  names,
  clock,
}: Pick<WorkerPorts, "storage" | "names" | "clock">): WorkerPorts["noteOtherCode"] {
  /** When this process last wrote each note. */
  const writtenMs = new Map<string, number>();
  return async ({ run, uid, gen }, { needed, theirs }) => {
    const name = runBlobs(run, uid).otherCode(gen, hash("sha256", theirs ?? "").slice(0, 12));
    const nowMs = clock.monotonicMs();
    if (nowMs - (writtenMs.get(name) ?? Number.NEGATIVE_INFINITY) < limits.identityNoteEveryMs) return false;
    setLatest(writtenMs, name, nowMs, notesKept);
    const metadata = { needed, ...(theirs === undefined ? {} : { theirs }) };
    try {
      await createOrReplace(storage.blobs, [names.runs, name], "", { metadata });
    } catch {
      writtenMs.delete(name);
    }
    return true;
  };
}
