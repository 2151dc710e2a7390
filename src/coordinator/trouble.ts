import {
  CorruptDataError,
  LeasefoldError,
  messageOf,
  NewerVersionError,
  StorageError,
} from "../model/errors.ts";
import { logEvents } from "../model/log.ts";
import type { ListedBlob } from "../storage/ports.ts";
import { close, type ListedMarker } from "./close.ts";
import { failUnreadable, type OpenRun } from "./openRun.ts";
import type { CoordinatorPorts } from "./perform.ts";
import { DeposedError, type Ownership } from "./stateChain.ts";

/** A run was written by a newer version. The first time in a process, this leader gives way to a newer instance. */
export class GiveWayError extends LeasefoldError {}

export interface Trouble {
  readonly listed: ListedMarker;
  readonly blob: ListedBlob;
  readonly nowMs: number;
  readonly newer: { readonly gaveWay: boolean };
}

/**
 * What one run's error means. Trouble with storage leaves the run as it is for the next look; bytes that do not
 * decode end the run; only the loss of leadership and a newer version's first appearance end the term.
 */
export async function judge(
  ports: CoordinatorPorts,
  leader: Ownership,
  runs: Map<string, OpenRun>,
  at: Trouble,
  error: unknown,
): Promise<void> {
  leader.assertLeading();
  if (error instanceof DeposedError) throw error;
  const run = runs.get(at.listed.id);
  const uid = run?.spec.uid ?? at.blob.metadata["uid"] ?? "";
  if (error instanceof NewerVersionError) {
    runs.delete(at.listed.id);
    if (!at.newer.gaveWay) throw new GiveWayError("gives-way", error.message, { cause: error });
    ports.log(logEvents.needsNewerVersion({ run: at.listed.id, uid }));
    return;
  }
  if (error instanceof CorruptDataError) {
    runs.delete(at.listed.id);
    try {
      await endCorrupt(ports, leader, run, at, error);
      return;
    } catch (worse) {
      leader.assertLeading();
      if (worse instanceof DeposedError) throw worse;
      ports.log(
        logEvents.runSkipped({ run: at.listed.id, uid, code: error.code, message: messageOf(worse) }),
      );
      return;
    }
  }
  const code = error instanceof StorageError ? error.storageCode || error.kind : "unexpected";
  ports.log(logEvents.runSkipped({ run: at.listed.id, uid, code, message: messageOf(error) }));
}

function endCorrupt(
  ports: CoordinatorPorts,
  leader: Ownership,
  run: OpenRun | undefined,
  { listed, blob, nowMs }: Trouble,
  error: CorruptDataError,
): Promise<void> {
  if (run === undefined) return failUnreadable(ports, leader, blob.metadata, listed, error, nowMs);
  const ending = { phase: "failed", error: { code: error.code, message: error.message } } as const;
  return close(ports, leader, run, ending, { state: run.chain.state() }, listed, nowMs);
}
