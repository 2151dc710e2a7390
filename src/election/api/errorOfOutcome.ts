import { ConfigError, CorruptDataError, NewerVersionError, StorageError } from "../../model/errors.ts";
import type { RaceOutcome } from "../contest.ts";

/** What a caller who waits for leadership has to be told as an error; `undefined` where waiting on may help. */
export function errorOfOutcome(outcome: RaceOutcome): unknown {
  if (outcome.kind === "unreachable") {
    if (outcome.error instanceof StorageError) return outcome.error;
    const why = `storage did not answer (${outcome.step})`;
    return new StorageError("busy", "", undefined, why, outcome.error);
  }
  if (outcome.kind !== "refused") return undefined;
  switch (outcome.code) {
    case "record-newer":
      return new NewerVersionError(outcome.code, outcome.reason);
    case "record-unreadable":
      return new CorruptDataError(outcome.code, outcome.reason);
    case "denied":
      return outcome.error;
    case "bad-request":
      return new ConfigError("election-request", outcome.reason, { cause: outcome.error });
    default:
      return new ConfigError(outcome.code, outcome.reason);
  }
}
