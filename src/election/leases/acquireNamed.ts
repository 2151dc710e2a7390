import { StorageError } from "../../model/errors.ts";
import type { Clock, ContentLease, Random } from "../../storage/ports.ts";
import { acquireLease, type TakenLease } from "../acquire/acquireLease.ts";
import { type Contest, errorOfOutcome } from "../acquire/contest.ts";
import { cappedCall, elapsedMs, momentOf } from "../cappedCall.ts";
import { isHeld, sightOf } from "../record/leaderView.ts";
import { stopWorkMs } from "../settings.ts";
import type { LeasesSettings } from "./settings.ts";

export type Tried =
  | TakenLease
  | { readonly kind: "heldByOther" }
  | { readonly kind: "stopped" }
  /** `definite`: trying again would not help. */
  | { readonly kind: "failed"; readonly error: unknown; readonly definite: boolean };

/** One look, and one series of tries with one lease id where the lease is free. A held lease costs one HEAD. */
export async function acquireNamed(
  ports: {
    readonly blob: ContentLease;
    readonly clock: Clock;
    readonly random: Random;
    readonly holder: string;
  },
  settings: LeasesSettings,
  stopping: AbortSignal,
): Promise<Tried> {
  const { blob, clock, random, holder } = ports;
  const call = <T>(make: (signal: AbortSignal) => Promise<T>) =>
    cappedCall(clock, settings.requestCapMs, make, stopping);
  const look = async () => {
    const seen = await call((signal) => blob.view({ signal }));
    if (seen.kind === "failed" || seen.value.kind === "found") return seen;
    const made = await call((signal) => blob.ensure({ signal }));
    return made.kind === "failed" ? made : await call((signal) => blob.view({ signal }));
  };
  const seen = await look();
  if (stopping.aborted) return { kind: "stopped" };
  if (seen.kind === "failed") {
    const definite = seen.error instanceof StorageError && seen.error.kind !== "busy";
    return { kind: "failed", error: seen.error, definite };
  }
  if (seen.value.kind === "missing") return { kind: "failed", error: goneAgain(), definite: false };
  const sight = sightOf(seen.value);
  if (isHeld(sight)) return { kind: "heldByOther" };

  const contest: Contest = {
    ports: { lease: blob, clock, random },
    settings,
    request: {
      holder,
      startedAtMonotonicMs: clock.monotonicMs(),
      worthLeading: async () => true,
      lead: async () => {},
      stopping,
    },
    emit: () => {},
    saw: () => {},
    nextBeat: () => "",
  };
  const acquired = await acquireLease(contest, "free", sight);
  if (acquired.kind === "taken") {
    // A process that was stopped meanwhile has a lease without any time left to work under it.
    if (elapsedMs(acquired.sentAt, momentOf(clock)) < stopWorkMs(settings)) return acquired;
    await cappedCall(clock, settings.requestCapMs, (signal) => blob.release(acquired.leaseId, { signal }));
    return { kind: "failed", error: tooLate(), definite: false };
  }
  if (acquired.kind === "contended") return { kind: "heldByOther" };
  if (acquired.kind === "gone") return { kind: "failed", error: goneAgain(), definite: false };
  const { outcome } = acquired;
  if (outcome.kind === "refused" && outcome.code === "stopping") return { kind: "stopped" };
  return { kind: "failed", error: errorOfOutcome(outcome), definite: outcome.kind === "refused" };
}

const tooLate = () =>
  new StorageError("busy", "", undefined, "the lease was acquired too long ago when its reply was heard");
const goneAgain = () =>
  new StorageError("busy", "", undefined, "the blob of the lease went away as soon as it was made");
