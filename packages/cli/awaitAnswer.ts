import type { CommandAnswer } from "../../src/engine/client/commands/commandAnswer.ts";
import type { RunView } from "../../src/engine/client/runView.ts";
import { InputError, isUnreadable } from "../../src/engine/model/errors.ts";
import type { Commanded } from "../client/apiTypes.ts";
import type { Run } from "../client/run.ts";
import type { Cli } from "./cli.ts";

/**
 * What became of a command. The API accepts it, a leader executes it, and the status of the run shows that.
 *
 * Not promised: an answer. While nobody leads there is none.
 */

type Waiting = Pick<Cli, "clock" | "signal">;

/** A leader polls every two seconds, and a new one is elected within a lease. */
const answerWaitMs = 10_000;
const pollMs = 250;

/** Polls until `read` gives a value that is over, or the time or the signal ends the wait; gives the last value. */
async function poll<T>(
  { clock, signal }: Waiting,
  read: () => Promise<{ readonly over: boolean; readonly value: T }>,
): Promise<T> {
  const untilMs = clock.monotonicMs() + answerWaitMs;
  for (;;) {
    const { over, value } = await read();
    if (over || signal.aborted || clock.monotonicMs() >= untilMs) return value;
    await clock.sleep(pollMs, signal);
  }
}

/**
 * Waits until the leader has answered a command or the run has ended; gives the run's view then. The answer stays `pending`
 * while nobody leads. For a deletion there is `awaitDeletion`.
 */
export const awaitAnswer = (
  waiting: Waiting,
  run: Run,
  given: Commanded,
): Promise<{ readonly view: RunView; readonly answer: CommandAnswer }> =>
  poll(waiting, async () => {
    const view = await run.status();
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

/** Whether a run is deleted, or another has its id, once the wait ends. One that cannot be read is still there. */
export const awaitDeletion = (waiting: Waiting, run: Run, { uid }: Commanded): Promise<boolean> =>
  poll(waiting, async () => {
    const isGone = await run.status().then(
      (view) => view.uid !== uid,
      (error: unknown) => {
        if (isUnreadable(error)) return false;
        if (error instanceof InputError && error.code === "unknown-run") return true;
        throw error;
      },
    );
    return { over: isGone, value: isGone };
  });
