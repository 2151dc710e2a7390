import { failRun, retryLater } from "../../../src/engine/calculation/asks.ts";
import type { Random } from "../../../src/engine/storage/ports.ts";
import type { SubmitRequest } from "../../support/engineWorld.ts";
import type { Stage } from "./stage.ts";

/** Worlds in which work waits for its next attempt: by the pauses of its run, and because its code asks for it. */

const pauseMaxS = 90;
const askMaxS = 400;

/** A few attempts with pauses of any length, and at times an end. */
export function waitingOf(request: SubmitRequest, { number }: Random): SubmitRequest {
  const pauses = Array.from({ length: 1 + Math.floor(number() * 4) }, () =>
    Math.floor(number() ** 3 * pauseMaxS),
  );
  const deadline = { ms: 60_000 + Math.floor(number() * 900_000), keep: number() < 0.5 };
  return {
    ...request,
    attempts: 1 + Math.floor(number() * 5),
    retryAfterS: pauses,
    ...(number() < 0.3 ? { deadline } : {}),
  };
}

/** What such a run waits for at most once nothing asks any more. */
export const waitingMs = 1_000 * (5 * pauseMaxS + askMaxS);

/** Until what this gives is called, chunks and plans ask for later attempts now and then; a few end their run. */
export function askAtTimes({ broken, world: { random } }: Stage): () => void {
  const { number } = random;
  const share = number() * 0.5;
  const ends = number() < 0.2 ? 0.01 : 0;
  let asks = true;
  broken.throws = (_run, chunk) => {
    if (!asks) return;
    if (number() < share * (chunk === undefined ? 1 : 0.4))
      retryLater("not yet", 1 + number() ** 4 * (askMaxS - 1));
    if (chunk !== undefined && number() < ends) failRun("never");
  };
  return () => {
    asks = false;
  };
}
