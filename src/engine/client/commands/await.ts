import { specBlob } from "../../model/runBlobs.ts";
import type { Client } from "../client.ts";
import { headMarker, readBlob } from "../runDocuments.ts";
import type { RunView } from "../runView.ts";
import { status } from "../status.ts";
import { type Commanded, uidOf } from "./command.ts";
import type { CommandAnswer } from "./commandAnswer.ts";

const pollMs = 250;

/** Polls until `read` gives a value, and for `waitMs` at most; gives the last answer. */
async function pollUntil<T>(
  { clock }: Client,
  { waitMs, signal }: { readonly waitMs: number; readonly signal: AbortSignal | undefined },
  read: () => Promise<{ readonly over: boolean; readonly value: T }>,
): Promise<T> {
  const untilMs = clock.monotonicMs() + waitMs;
  for (;;) {
    const { over, value } = await read();
    if (over || signal?.aborted || clock.monotonicMs() >= untilMs) return value;
    await clock.sleep(pollMs, signal);
  }
}

/**
 * Waits until the leader has answered a command or the run has ended, for `waitMs` at most; gives the run's view then.
 * The answer stays `pending` while nobody leads. For a deletion there is `awaitDeletion`.
 */
export const awaitAnswer = (
  client: Client,
  given: Commanded,
  waitMs: number,
  signal?: AbortSignal,
): Promise<{ readonly view: RunView; readonly answer: CommandAnswer }> =>
  pollUntil(client, { waitMs, signal }, async () => {
    const view = await status(client, given.run);
    const answer = answerTo(given, view);
    return { over: answer !== "pending", value: { view, answer } };
  });

/** Pure: the answer to a command, by the run's view. */
function answerTo(given: Commanded, view: RunView): CommandAnswer {
  if (given.command === 0) return "done";
  const { uid, generation, command } = view;
  if (uid === given.uid && command !== undefined && command.number >= given.command) return command.answer;
  // The marker is gone without an answer: the run ended before a leader saw the command, or another retry came first.
  const retried = given.kind === "retry" && uid === given.uid && generation >= given.generation;
  return retried ? "done" : "too-late";
}

/**
 * Waits until the marker and the spec of a deleted run are gone, which the leader deletes last, for `waitMs` at most.
 * A new run of the same id does not count.
 */
export const awaitDeletion = (
  client: Client,
  given: Pick<Commanded, "run" | "uid">,
  waitMs: number,
  signal?: AbortSignal,
): Promise<"gone" | "going"> =>
  pollUntil(client, { waitMs, signal }, async () => {
    const over = await isGone(client, given);
    return { over, value: over ? "gone" : "going" };
  });

async function isGone(client: Client, { run, uid }: Pick<Commanded, "run" | "uid">): Promise<boolean> {
  const marker = await headMarker(client, run);
  if (marker.kind === "found" && marker.properties.metadata["uid"] === uid) return false;
  const spec = await readBlob(client, client.names.runs, specBlob(run));
  if (spec.kind === "missing") return true;
  const specUid = uidOf(spec.body);
  return specUid !== undefined && specUid !== uid;
}
