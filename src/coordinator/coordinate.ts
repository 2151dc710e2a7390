import type { CallCounts } from "../model/calls.ts";
import {
  CorruptDataError,
  LeasefoldError,
  messageOf,
  NewerVersionError,
  StorageError,
} from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import { logEvents } from "../model/log.ts";
import { decodeMarker } from "../model/marker.ts";
import type { ListedBlob } from "../storage/ports.ts";
import { close, type ListedMarker } from "./close.ts";
import { decide } from "./decide.ts";
import { look } from "./look.ts";
import { failUnreadable, type OpenRun, openRun } from "./openRun.ts";
import { pauseBetween } from "./pace.ts";
import { type CoordinatorPorts, perform } from "./perform.ts";
import { shareCalls } from "./shareCalls.ts";
import { DeposedError, type Ownership } from "./stateChain.ts";

/**
 * What a leader does with its term: it lists the markers, advances each run, sleeps, and comes again until no run
 * is left or its signal fires.
 *
 * Not promised: that only one instance is in here. Two that both believe they lead cost duplicate work; every
 * write that matters is create-only, or stands on an ETag that a newer term has already moved.
 */
export interface Leader extends Ownership {
  /** Fires when leading has to end, planned or not: no new look is begun, the one at work goes on to its end. */
  readonly signal: AbortSignal;
  /** Tells the election that this leader is getting on. */
  progress(): void;
  /** Shown to whoever asks who leads. */
  note(notes: Readonly<Record<string, string>>): void;
}

export interface CoordinateSettings {
  readonly loopMs: number;
  readonly fastLoopMs: number;
}

/** A run was written by a newer version. The first time in a process, this leader gives way to a newer instance. */
export class GiveWayError extends LeasefoldError {}

export async function coordinate(
  ports: CoordinatorPorts,
  leader: Leader,
  settings: CoordinateSettings,
  newer: { gaveWay: boolean },
): Promise<void> {
  const runs = new Map<string, OpenRun>();
  let calls: CallCounts = ports.storage.meter.counts();
  while (!leader.signal.aborted) {
    const listed = await listMarkers(ports, leader);
    if (listed === "unreachable") continue;
    const { markers, nowMs } = listed;
    if (markers.length === 0) return;
    const known = new Set(markers.map((marker) => marker.name));
    for (const id of runs.keys()) if (!known.has(id)) runs.delete(id);

    for (let from = 0; from < markers.length; from += limits.runsAtOnce) {
      const batch = markers.slice(from, from + limits.runsAtOnce);
      const ends = await Promise.allSettled(
        batch.map((marker) => advance(ports, leader, runs, marker, nowMs, newer)),
      );
      const ended = ends.find((one) => one.status === "rejected");
      if (ended !== undefined) throw ended.reason;
      leader.progress();
    }
    calls = shareCalls(ports, runs, calls);
    leader.note({ runs: String(runs.size), working: [...runs.values()].slice(0, 3).map(shortly).join(", ") });
    const pauseMs = pauseBetween([...runs.values()], settings, ports.clock.monotonicMs());
    await ports.clock.sleep(pauseMs, leader.signal);
  }
  // A planned end leaves the cursor where it is, so that the next leader sends nothing twice.
  if (!leader.lost.aborted) await Promise.all([...runs.values()].map((run) => run.chain.write(run.working)));
}

/** `my-run computing 35 %`, for whoever asks what the leader does. */
function shortly({ working: { run, phase, layout, chunksDone } }: OpenRun): string {
  const share =
    layout === undefined || layout.chunks === 0 ? "" : ` ${Math.floor((100 * chunksDone) / layout.chunks)} %`;
  return `${run} ${phase}${phase === "computing" ? share : ""}`;
}

/** True if any run is active: what makes a term worth claiming. */
export async function anyRunActive(
  ports: Pick<CoordinatorPorts, "storage" | "names">,
  signal?: AbortSignal,
): Promise<boolean> {
  let cursor: string | undefined;
  do {
    // A page may be empty and still not be the last one.
    const page = await ports.storage.blobs.list(ports.names.active, "", { pageSize: 1, cursor, signal });
    if (page.blobs.length > 0) return true;
    cursor = page.cursor;
  } while (cursor !== undefined);
  return false;
}

/** One run's trouble stays its own; only what ends the term is thrown on. */
async function advance(
  ports: CoordinatorPorts,
  leader: Leader,
  runs: Map<string, OpenRun>,
  blob: ListedBlob,
  nowMs: number,
  newer: { gaveWay: boolean },
): Promise<void> {
  const listed = { id: blob.name, etag: blob.etag };
  try {
    const marker = decodeMarker(blob.metadata, blob.name);
    let run = runs.get(blob.name);
    if (run === undefined || run.spec.uid !== marker.uid) {
      runs.delete(blob.name);
      run = await openRun(ports, leader, marker, listed, nowMs);
      if (run === undefined) return;
      runs.set(blob.name, run);
    }
    const { spec, memory, working } = run;
    const time = { nowMs, localMs: ports.clock.monotonicMs(), packLimitMs: ports.packLimitMs };
    const failuresDue = time.localMs - memory.failuresMs >= limits.failuresEveryMs;
    const subject = { spec, state: working, marker, nowMs, failuresDue };
    const seen = await look(ports.storage.blobs, ports.names, subject, leader.lost);
    if (failuresDue) memory.failuresMs = time.localMs;
    const draft = decide(working, seen, memory, time);
    if (draft.ending !== undefined) {
      await close(
        ports,
        leader,
        run,
        draft.ending,
        { state: draft.state, manifest: seen.manifest },
        listed,
        nowMs,
      );
      runs.delete(blob.name);
      return;
    }
    const finishing = draft.state.phase === "finishing" && working.phase !== "finishing";
    if (finishing && !(await markerStands(ports, leader, listed))) return;
    await perform(ports, leader, run, draft, time);
  } catch (error) {
    await judge(ports, leader, runs, { listed, blob, nowMs, newer }, error);
  }
}

/** A command that came between the list and the record of `finishing` must still count, so the marker is looked at again. */
async function markerStands(ports: CoordinatorPorts, leader: Leader, listed: { id: string; etag: string }) {
  const now = await ports.storage.blobs.head(ports.names.active, listed.id, { signal: leader.lost });
  return now.kind === "found" && now.properties.etag === listed.etag;
}

interface Trouble {
  readonly listed: ListedMarker;
  readonly blob: ListedBlob;
  readonly nowMs: number;
  readonly newer: { readonly gaveWay: boolean };
}

/**
 * What one run's error means. Trouble with storage leaves the run as it is for the next look; bytes that do not
 * decode end the run; only the loss of leadership and a newer version's first appearance end the term.
 */
async function judge(
  ports: CoordinatorPorts,
  leader: Leader,
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
  leader: Leader,
  run: OpenRun | undefined,
  { listed, blob, nowMs }: Trouble,
  error: CorruptDataError,
): Promise<void> {
  if (run === undefined) return failUnreadable(ports, leader, blob.metadata["uid"], listed, error, nowMs);
  const ending = { phase: "failed", error: { code: error.code, message: error.message } } as const;
  return close(ports, leader, run, ending, { state: run.chain.state() }, listed, nowMs);
}

/** Storage that is busy for a while costs a loop, not the term; the lease decides about the term. */
async function listMarkers(ports: CoordinatorPorts, leader: Leader) {
  const markers: ListedBlob[] = [];
  let cursor: string | undefined;
  let nowMs = 0;
  try {
    do {
      leader.assertLeading();
      const options = { metadata: true, cursor, signal: leader.lost };
      const page = await ports.storage.blobs.list(ports.names.active, "", options);
      markers.push(...page.blobs);
      cursor = page.cursor;
      nowMs = page.dateMs;
    } while (cursor !== undefined);
  } catch (error) {
    if (!(error instanceof StorageError) || error.kind !== "busy") throw error;
    ports.log(logEvents.runSkipped({ run: "*", uid: "", code: error.storageCode, message: error.message }));
    await ports.clock.sleep(1_000, leader.signal);
    return "unreachable";
  }
  return { markers, nowMs };
}
