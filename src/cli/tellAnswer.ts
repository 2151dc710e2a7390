import { awaitAnswer } from "../client/commands/await.ts";
import { type Commanded, command } from "../client/commands/command.ts";
import type { Change } from "../client/commands/decideCommand.ts";
import { InputError } from "../model/errors.ts";
import type { Session } from "./cli.ts";
import { stateOf } from "./render/progress.ts";

/** A leader looks every two seconds, and a new one is elected within a lease; more is not worth a person's wait. */
export const answerWaitMs = 10_000;

/** Gives a command, waits a little for the leader's answer and tells it. */
export async function tellCommand(session: Session, run: string, change: Change): Promise<void> {
  const given = await command(await session.client(), run, change);
  await tellAnswer(session, given, textOf(change));
}

function textOf(change: Change): string {
  if (change.kind === "cap") return `cap ${change.cap}`;
  return change.kind === "cancel" && change.keep === true ? "cancel --keep" : change.kind;
}

/** What comes too late is an error, as anywhere. */
async function tellAnswer(session: Session, given: Commanded, what: string): Promise<void> {
  const { view, answer } = await awaitAnswer(await session.client(), given, answerWaitMs, session.cli.signal);
  if (answer === "too-late" || answer === "refused") {
    throw new InputError(
      "conflict",
      answer,
      `${what}: ${answer.replace("-", " ")}, run ${given.run} is ${view.word}`,
    );
  }
  if (session.json()) return await session.printJson({ ...given, answer, word: view.word });
  const done = given.changed ? "done" : "it was so before";
  const told = answer === "pending" ? "asked; no leader has answered yet" : `${done}, ${stateOf(view)}`;
  await session.print(`${given.run}  ${what}: ${told}`);
}
