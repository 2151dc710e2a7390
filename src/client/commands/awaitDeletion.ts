import { specBlob } from "../../model/names.ts";
import type { Client } from "../client.ts";
import { whereAny } from "../places.ts";
import type { Commanded } from "./command.ts";
import { ownerOf } from "./deletionFacts.ts";

const pollMs = 250;

/**
 * Waits until the marker and the spec of a deleted run are gone, which the leader removes last, or `waitMs` have
 * passed. A new run of the same id does not count.
 */
export async function awaitDeletion(
  client: Client,
  given: Pick<Commanded, "run" | "uid">,
  waitMs: number,
  signal?: AbortSignal,
): Promise<"gone" | "going"> {
  const untilMs = client.clock.monotonicMs() + waitMs;
  for (;;) {
    if (await isGone(client, given)) return "gone";
    if (signal?.aborted || client.clock.monotonicMs() >= untilMs) return "going";
    await client.clock.sleep(pollMs, signal);
  }
}

async function isGone({ storage, names }: Client, { run, uid }: Pick<Commanded, "run" | "uid">) {
  const marker = await whereAny(storage.blobs.head(names.active, run), { kind: "missing" });
  if (marker.kind === "found" && marker.properties.metadata["uid"] === uid) return false;
  const spec = await whereAny(storage.blobs.read(names.runs, specBlob(run)), { kind: "missing" });
  if (spec.kind === "missing") return true;
  const owner = ownerOf(spec.body);
  return owner !== undefined && owner !== uid;
}
