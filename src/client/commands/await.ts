import { specBlob } from "../../model/runBlobs.ts";
import type { Client } from "../client.ts";
import { whereAny } from "../places.ts";
import type { CommandAnswer, RunView } from "../runView.ts";
import { status } from "../status.ts";
import type { Commanded } from "./command.ts";
import { ownerOf } from "./facts.ts";

const pollMs = 250;

/**
 * Waits until the leader has answered a command, the run is over, or `waitMs` have passed, and tells how the run
 * stands then. The answer stays `pending` where nobody leads. A deletion is waited for by `awaitDeletion`.
 */
export async function awaitAnswer(
  client: Client,
  given: Commanded,
  waitMs: number,
  signal?: AbortSignal,
): Promise<{ readonly view: RunView; readonly answer: CommandAnswer }> {
  const untilMs = client.clock.monotonicMs() + waitMs;
  for (;;) {
    const view = await status(client, given.run);
    const answer = answerTo(given, view);
    const over = answer !== "pending" || signal?.aborted || client.clock.monotonicMs() >= untilMs;
    if (over) return { view, answer };
    await client.clock.sleep(pollMs, signal);
  }
}

/** Pure: what came of a command, as far as the run's view tells. */
export function answerTo(given: Commanded, view: RunView): CommandAnswer {
  if (given.command === 0) return "done";
  const { uid, generation, command } = view;
  if (uid === given.uid && command !== undefined && command.number >= given.command) return command.answer;
  // The marker is gone without an answer: the run ended before a leader saw the command, or another retry came first.
  const retried = given.kind === "retry" && uid === given.uid && generation >= given.generation;
  return retried ? "done" : "too-late";
}

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
