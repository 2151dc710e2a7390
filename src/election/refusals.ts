import type { Contest, RaceOutcome } from "./contest.ts";
import { isDenied, judge, storageCodeOf } from "./judge.ts";
import { decideBudget } from "./policy.ts";

export type Refused = RaceOutcome & { readonly kind: "refused" };

/** Why this invocation must not go for the lease at this moment; `undefined` where it may. */
export function whyNotNow({ ports, settings, request }: Contest): Refused | undefined {
  if (request.stopping?.aborted) return stoppingNow;
  const code = decideBudget(ports.clock.monotonicMs(), request.startedAtMonotonicMs, settings);
  return code === undefined ? undefined : { kind: "refused", code, reason: reasons[code] };
}

/** What a failed call means for the race; `undefined` where trying again may help. */
export function whyGiveUp(
  contest: Contest,
  error: unknown,
  step: "look" | "acquire" | "record",
): Refused | undefined {
  const code = storageCodeOf(error);
  if (isDenied(error)) {
    return { kind: "refused", code: "denied", reason: `Storage denied the ${step}: ${code}.`, error };
  }
  if (judge(error) === "bug") {
    return { kind: "refused", code: "bad-request", reason: `Storage refused the ${step}: ${code}.`, error };
  }
  return contest.request.stopping?.aborted ? stoppingNow : undefined;
}

export const stoppingNow: Refused = {
  kind: "refused",
  code: "stopping",
  reason: "This process is about to stop.",
};

const reasons = {
  "clock-backwards": "The invocation began in the future by its own monotonic clock.",
  "too-little-budget": "Too little of the invocation's time is left to lead.",
};
