import type { Client } from "./client.ts";
import type { Commanded } from "./command.ts";
import type { RunView } from "./runView.ts";
import { status } from "./status.ts";

const pollMs = 250;

/**
 * Waits until the leader has answered a command, the run is over, or `waitMs` have passed, and tells how the run
 * stands then. The answer is in `command.answer`; it stays `pending` where nobody leads.
 */
export async function awaitAnswer(
  client: Client,
  given: Commanded,
  waitMs: number,
  signal?: AbortSignal,
): Promise<RunView> {
  const untilMs = client.clock.monotonicMs() + waitMs;
  for (;;) {
    const view = await status(client, given.run);
    const answered = view.command !== undefined && view.command.answer !== "pending";
    if (answered || !view.active || signal?.aborted) return view;
    if (client.clock.monotonicMs() >= untilMs) return view;
    await client.clock.sleep(pollMs, signal);
  }
}
