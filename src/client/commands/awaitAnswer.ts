import type { Client } from "../client.ts";
import type { CommandAnswer, RunView } from "../runView.ts";
import { status } from "../status.ts";
import type { Commanded } from "./command.ts";

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
