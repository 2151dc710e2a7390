import { LeasefoldError } from "../../model/errors.ts";
import { identityHere, shownIdentity, type WantedCode } from "../../model/identity.ts";
import { limits } from "../../model/limits.ts";
import type { WorkMessage } from "../../model/message.ts";
import { runBlobs } from "../../model/runBlobs.ts";
import type { WorkerPorts } from "../ports.ts";
import { sha256Of } from "../sha256Of.ts";

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

/** When this process last said so, by the note's name. */
type Told = Map<string, number>;
const toldBy = new WeakMap<WorkerPorts["documents"], Told>();
const toldKept = 256;

/**
 * Tells the leader that instances with this code enqueue work of the run again. All instances of one identity share a
 * note for each generation; its age says whether they still do. Not promised: that it is written. The next message
 * that is enqueued again tells as well. Gives whether it was due.
 */
export async function noteOtherCode(
  ports: WorkerPorts,
  { run, uid, gen }: WorkMessage,
  { wanted, theirs }: OtherCodeError,
): Promise<boolean> {
  const { blobs } = ports.storage;
  const { runs } = ports.names;
  const hash = sha256Of(Buffer.from(theirs ?? ""))
    .toString("hex")
    .slice(0, 12);
  const name = runBlobs(run, uid).otherCode(gen, hash);
  const nowMs = ports.clock.monotonicMs();
  const told = toldBy.get(ports.documents) ?? new Map<string, number>();
  toldBy.set(ports.documents, told);
  if (nowMs - (told.get(name) ?? Number.NEGATIVE_INFINITY) < limits.identityNoteEveryMs) return false;
  told.set(name, nowMs);
  if (told.size > toldKept) told.delete(told.keys().next().value as string);
  const metadata = { wanted, ...(theirs === undefined ? {} : { theirs }) };
  try {
    if ((await blobs.create(runs, name, "", { metadata })).kind === "created") return true;
    const there = await blobs.head(runs, name);
    if (there.kind === "found")
      await blobs.replace(runs, name, "", { metadata, ifMatch: there.properties.etag });
  } catch {
    told.delete(name);
  }
  return true;
}
