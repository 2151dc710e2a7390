import * as z from "zod";
import { actorSchema } from "../../model/labels.ts";
import { type Marker, wantSchema } from "../../model/marker.ts";
import { isFinal, type State } from "../../model/state.ts";
import { defined } from "../client.ts";
import { count } from "../viewSchemas.ts";

/** What became of the last command, by the marker that gave it and the state that answers it. */

const commandAnswer = z
  .enum(["pending", "done", "too-late", "refused"])
  .describe("`pending`: no leader has seen the command yet.");
export type CommandAnswer = z.infer<typeof commandAnswer>;

export const commandSchema = z
  .object({
    number: count,
    want: wantSchema.optional(),
    answer: commandAnswer,
    by: actorSchema.describe("Who gave it.").exactOptional(),
  })
  .describe("The last command, and the leader's answer.");

export function commandOf(
  state: State | undefined,
  marker: Marker | undefined,
): z.infer<typeof commandSchema> | undefined {
  const number = marker?.command ?? state?.command ?? 0;
  if (number === 0) return undefined;
  const by = marker?.who ?? state?.history?.find(({ command }) => command === number)?.by;
  return { number, want: marker?.want, answer: answerOf(number, state, marker), ...defined({ by }) };
}

export function answerOf(given: number, state: State | undefined, marker: Marker | undefined): CommandAnswer {
  if (state === undefined) return "pending";
  if (state.command >= given) return state.answer ?? "done";
  // A run that has ended can only be deleted or retried.
  const possible = marker?.want === "delete" || (marker?.generation ?? 0) > state.generation;
  return isFinal(state.phase) && !possible ? "too-late" : "pending";
}
