import {
  CorruptDataError,
  LeasefoldError,
  messageOf,
  NewerVersionError,
  StorageError,
} from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { type Log, logEvents } from "../../model/log.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import { failUnreadable, type OpenRun } from "../look/openRun.ts";
import { close, type ListedMarker } from "./close.ts";
import type { CoordinatorPorts } from "./perform.ts";
import { DeposedError, type Ownership } from "./stateChain.ts";

/** A run was written by a newer version. The first time in a process, this leader gives way to a newer instance. */
export class GiveWayError extends LeasefoldError {}

/**
 * Runs that met trouble wait for longer and longer before they are tried again, and their log line comes once a minute.
 * A command ends the wait.
 */
export class TroubledRuns {
  readonly #runs = new Map<string, { etag: string; untilMs: number; pauseMs: number; toldMs: number }>();

  /** Whether this run's turn is skipped. */
  waits({ name, etag }: Pick<ListedBlob, "name" | "etag">, localMs: number): boolean {
    const known = this.#runs.get(name);
    return known !== undefined && known.etag === etag && localMs < known.untilMs;
  }

  /** Takes note of another failure; true if it is to be logged. */
  add({ name, etag }: Pick<ListedBlob, "name" | "etag">, localMs: number): boolean {
    const known = this.#runs.get(name);
    const pauseMs = Math.min(
      known === undefined ? limits.troublePauseMs : 2 * known.pauseMs,
      limits.troublePauseMsMax,
    );
    const tell = known === undefined || localMs - known.toldMs >= limits.troubleToldEveryMs;
    const toldMs = tell ? localMs : known.toldMs;
    this.#runs.set(name, { etag, untilMs: localMs + pauseMs, pauseMs, toldMs });
    return tell;
  }

  over({ name }: Pick<ListedBlob, "name">): void {
    this.#runs.delete(name);
  }
}

export interface Trouble {
  readonly listed: ListedMarker;
  readonly blob: ListedBlob;
  readonly nowMs: number;
  readonly newer: { readonly gaveWay: boolean };
  readonly troubled: TroubledRuns;
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
  const tell = at.troubled.add(at.blob, ports.clock.monotonicMs());
  const log: Log = (event) => {
    if (tell) ports.log(event);
  };
  const run = runs.get(at.listed.id);
  const uid = run?.spec.uid ?? at.blob.metadata["uid"] ?? "";
  if (error instanceof NewerVersionError) {
    runs.delete(at.listed.id);
    if (!at.newer.gaveWay) throw new GiveWayError("gives-way", error.message, { cause: error });
    log(logEvents.needsNewerVersion({ run: at.listed.id, uid }));
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
      log(logEvents.runSkipped({ run: at.listed.id, uid, code: error.code, message: messageOf(worse) }));
      return;
    }
  }
  const code = error instanceof StorageError ? error.storageCode || error.kind : "unexpected";
  log(logEvents.runSkipped({ run: at.listed.id, uid, code, message: messageOf(error) }));
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
