import { awaitAnswer } from "../client/awaitAnswer.ts";
import type { Commanded } from "../client/command.ts";
import { InputError } from "../model/errors.ts";
import type { Session } from "./cli.ts";
import { stateOf } from "./render/progress.ts";

/** A leader looks every two seconds, and a new one is elected within a lease; more is not worth a person's wait. */
const answerWaitMs = 10_000;

/** Waits a little for the leader's answer to a command and tells it. What comes too late is an error, as anywhere. */
export async function tellAnswer(session: Session, given: Commanded, what: string): Promise<void> {
  const view = await awaitAnswer(await session.client(), given, answerWaitMs, session.cli.signal);
  const answer = view.command?.answer ?? "done";
  if (answer === "too-late" || answer === "refused") {
    throw new InputError(
      "conflict",
      answer,
      `${what}: ${answer.replace("-", " ")}, run ${given.run} is ${view.word}`,
    );
  }
  if (session.json()) return await session.printJson({ ...given, answer, word: view.word });
  const told = answer === "pending" ? "asked; no leader has answered yet" : `done, ${stateOf(view)}`;
  await session.print(`${given.run}  ${what}: ${told}`);
}
