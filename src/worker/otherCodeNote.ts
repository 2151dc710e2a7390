import { limits } from "../model/limits.ts";
import type { WorkMessage } from "../model/message.ts";
import { runBlobs } from "../model/names.ts";
import type { WorkerPorts } from "./ports.ts";
import type { OtherCodeError } from "./rightCode.ts";
import { sha256Of } from "./sha256Of.ts";

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
