import { StorageError } from "../../engine/model/errors.ts";
import type { LeaseView, Missing } from "../../engine/storage/ports.ts";
import { type ClockReading, readClocks } from "../cappedCall.ts";
import { classifyFailure, storageCodeOf } from "../leaseFailure.ts";
import type { LeaseCalls } from "../raceContext.ts";
import { type Poll, pollOf } from "../record/leaderView.ts";
import type { CameBy } from "../record/record.ts";

/** A poll that was answered, and the local times of its request and of its answer. */
export interface Polled {
  readonly kind: "polled";
  readonly poll: Poll;
  readonly sentAt: ClockReading;
  readonly answeredAt: ClockReading;
}

/** Polls the blob once. A missing blob or container is created; whoever leads from it starts at term 1. */
export async function pollLease({
  ports,
  request,
  call,
}: LeaseCalls): Promise<Polled | { readonly kind: "failed"; readonly error: unknown }> {
  const { clock, lease } = ports;
  const view = () => call<LeaseView | Missing>((signal) => lease.view({ signal }), request.stopping);
  let reply = await view();
  if (reply.kind === "ok" && reply.value.kind === "missing") {
    const created = await call((signal) => lease.ensure({ signal }), request.stopping);
    if (created.kind === "failed") return created;
    reply = await view();
  }
  if (reply.kind === "failed") return reply;
  if (reply.value.kind === "missing") return { kind: "failed", error: disappeared() };
  return {
    kind: "polled",
    poll: pollOf(reply.value),
    sentAt: reply.sentAt,
    answeredAt: readClocks(clock),
  };
}

export const disappeared = () =>
  new StorageError("busy", "", undefined, "the blob of the lease disappeared right after it was created");

/** A lease of ours, without a term as yet. */
export interface AcquiredLease {
  readonly kind: "acquired";
  readonly leaseId: string;
  /** When the confirmed acquire was sent. */
  readonly sentAt: ClockReading;
  readonly cameBy: CameBy;
  /** The poll before it. The acquire was conditional on its ETag, so this is the record under the lease as well. */
  readonly poll: Poll;
}

type AcquireResult =
  | AcquiredLease
  /** Another was first. */
  | { readonly kind: "contended"; readonly code: string }
  /** The blob disappeared between the poll and the acquire. */
  | { readonly kind: "gone" }
  | { readonly kind: "failed"; readonly error: unknown };

/**
 * One series of attempts with one lease id, chosen here and never used again. The same id may acquire its own lease
 * once more, so a lost reply does no harm. The condition on the ETag of the poll makes a delayed request fail once
 * anybody has written the record: otherwise it could acquire a lease that was released long ago, for an id that late
 * writes of an older term still carry.
 */
export async function acquireLease(
  { ports, settings, request, call }: LeaseCalls,
  cameBy: CameBy,
  poll: Poll,
): Promise<AcquireResult> {
  const { clock, lease } = ports;
  const leaseId = ports.random.uuid();
  const { stopping } = request;
  let error: unknown;
  for (let attempt = 1; attempt <= settings.tries && !stopping?.aborted; attempt += 1) {
    if (attempt > 1) await clock.sleep(settings.renewAgainMs, stopping);
    const reply = await call(
      (signal) => lease.acquire(leaseId, settings.leaseDurationS, { ifMatch: poll.etag, signal }),
      stopping,
    );
    if (reply.kind === "ok") return { kind: "acquired", leaseId, sentAt: reply.sentAt, cameBy, poll };
    error = reply.error;
    const code = storageCodeOf(error);
    const failure = classifyFailure(error);
    if (failure === "contention" || code === "ConditionNotMet") return { kind: "contended", code };
    if (failure === "loss") return { kind: "gone" };
    if (failure !== "transient") return { kind: "failed", error };
  }
  // One of the attempts may have been carried out: do not leave a lease without a holder for its whole length.
  await call((signal) => lease.release(leaseId, { signal }));
  return { kind: "failed", error };
}
