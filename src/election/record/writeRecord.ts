import type { Contest } from "../acquire/contest.ts";
import { cappedCall, type Moment } from "../cappedCall.ts";
import type { Hold } from "../hold/hold.ts";
import { judge, storageCodeOf } from "../judge.ts";
import { decideAfterReadBack } from "../policy.ts";
import { type Sight, sightOf } from "./leaderView.ts";
import { encodeRecord, type LeaderRecord } from "./record.ts";

export type RecordWritten =
  /** `sentAt`: of the first request that may have written it. */
  | { readonly kind: "written"; readonly etag: string; readonly sentAt: Moment }
  | { readonly kind: "lost"; readonly error: unknown }
  | { readonly kind: "unknown"; readonly error: unknown };

/**
 * Writes the record once, under the lease id and with `If-Match`. The condition makes the write safe to
 * repeat: a first request that was delayed on its way cannot come back over a later record. Where a reply is
 * unknown the record is read back, and it is mine only by a mark that no other write carries.
 */
export async function writeRecordOnce(
  contest: Contest,
  hold: Hold,
  record: LeaderRecord,
  ifMatch: string,
  isMine: (seen: LeaderRecord) => boolean,
): Promise<RecordWritten> {
  const { ports, settings } = contest;
  const { clock, lease } = ports;
  const metadata = encodeRecord(record);
  let firstUnknown: Moment | undefined;
  let error: unknown;
  for (let attempt = 1; attempt <= settings.tries && !hold.lost.aborted; attempt += 1) {
    if (attempt > 1) await clock.sleep(settings.renewAgainMs, hold.lost);
    const reply = await cappedCall(
      clock,
      settings.requestCapMs,
      (signal) => lease.writeRecord(hold.leaseId, metadata, { ifMatch, signal }),
      hold.lost,
    );
    if (reply.kind === "ok") return { kind: "written", etag: reply.value.etag, sentAt: reply.sentAt };
    error = reply.error;
    const moved = storageCodeOf(error) === "ConditionNotMet";
    if (!moved && judge(error) !== "transient") return { kind: "lost", error };
    if (!moved) firstUnknown ??= reply.sentAt;
    if (moved && firstUnknown === undefined) return { kind: "lost", error };
    const back = await readBack(contest, hold);
    if (back.kind === "unknown") continue;
    const verdict = decideAfterReadBack(back.sight, ifMatch, isMine);
    if (verdict === "lost") return { kind: "lost", error };
    if (verdict === "mine" && back.sight !== undefined) {
      return { kind: "written", etag: back.sight.etag, sentAt: firstUnknown ?? reply.sentAt };
    }
  }
  return { kind: "unknown", error };
}

async function readBack(
  { ports, settings }: Contest,
  hold: Hold,
): Promise<{ readonly kind: "seen"; readonly sight: Sight | undefined } | { readonly kind: "unknown" }> {
  const reply = await cappedCall(
    ports.clock,
    settings.requestCapMs,
    (signal) => ports.lease.view({ signal }),
    hold.lost,
  );
  if (reply.kind === "failed") return { kind: "unknown" };
  return { kind: "seen", sight: reply.value.kind === "missing" ? undefined : sightOf(reply.value) };
}
