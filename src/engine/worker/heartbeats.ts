import { limits } from "../model/limits.ts";
import { type WorkMessage, workOf } from "../model/message.ts";
import { heartbeatBlob, type Names } from "../model/names.ts";
import type { Work } from "../model/runBlobs.ts";
import { encodeHeartbeat, type WorkerHeartbeat } from "../model/workerHeartbeat.ts";
import type { BlobStore, Clock, Random } from "../storage/ports.ts";
import { oneAtATime } from "../storage/system.ts";
import { setLatest } from "./setLatest.ts";

/**
 * What this process tells of its work (rule *observation*): one blob lists what it has taken and not ended. It is
 * written once some of that lasts, again every few seconds while any lasts, and removed after; short work costs no call.
 *
 * Not promised: that each heartbeat is written in time. A missing or late one costs a resend, never a wrong result.
 */
export interface WorkerHeartbeats {
  /** Lists the work of a delivery as taken, until `end`. */
  hold(message: WorkMessage): HeldWork;
  /** Removes the heartbeat, since the process stops as planned. */
  stop(): Promise<void>;
}

export interface HeldWork {
  /**
   * To be called when user code is about to begin. Work that was sent before begins only once a heartbeat that tells of it is
   * confirmed, so that its death is seen: throws when storage does not take the heartbeat, and may then be called again.
   */
  begin(chunkNow?: ChunkNow): Promise<void>;
  /**
   * `laterMs`: its message was enqueued again, hidden for so long, and is listed as waiting until then. Any call after the first
   * does nothing.
   */
  end(laterMs?: number): void;
}

/** The chunk that a thread computes now; undefined where it computes none. */
export type ChunkNow = () => number | undefined;

/** What a heartbeat says of its process. */
export interface HeartbeatProcess extends Pick<WorkerHeartbeat, "threads" | "version" | "codes"> {
  readonly instance: string;
  readonly memoryMb: () => number;
}

interface HeartbeatPorts {
  readonly storage: { readonly blobs: BlobStore };
  readonly names: Names;
  readonly clock: Clock;
  readonly random: Random;
}

interface Entry {
  readonly message: WorkMessage;
  readonly work: Work;
  sinceMs: number;
  begun: boolean;
  chunkNow?: ChunkNow | undefined;
  /** A heartbeat says that it has begun. */
  confirmed: boolean;
}

export function workerHeartbeats(
  { storage: { blobs }, names, clock, random }: HeartbeatPorts,
  { instance, memoryMb, ...about }: HeartbeatProcess,
): WorkerHeartbeats {
  const name = heartbeatBlob(instance, random.uuid().slice(0, 8));
  const entries = new Set<Entry>();
  const lasting = durationsOf();
  const inTurn = oneAtATime();
  /** What the blob says now; undefined where there is none. */
  let written:
    | { readonly atMs: number; readonly everyMs: number; readonly listed: ReadonlySet<Entry> }
    | undefined;
  let etag: string | undefined;
  let sleeping: { readonly untilMs: number; readonly wake: AbortController } | undefined;
  let looping = false;
  let stopped = false;

  const dueMs = (entry: Entry): number => entry.sinceMs + lasting.afterMs(entry.message.uid);

  /** When the heartbeat must be written or removed next; never while nothing lasts. */
  function nextMs(): number {
    const unlisted = [...entries].filter((entry) => written?.listed.has(entry) !== true).map(dueMs);
    if (written === undefined) return Math.min(Number.POSITIVE_INFINITY, ...unlisted);
    const again = holds(written.listed) ? written.everyMs : 0;
    const soonestMs = written.atMs + limits.heartbeatMsMin / 2;
    return Math.max(soonestMs, Math.min(written.atMs + again, ...unlisted));
  }

  /** Whether anything that the heartbeat lists has not ended. */
  const holds = (listed: ReadonlySet<Entry>): boolean => [...listed].some((entry) => entries.has(entry));

  async function loop(): Promise<void> {
    looping = true;
    for (let atMs = nextMs(); !stopped && atMs < Number.POSITIVE_INFINITY; atMs = nextMs()) {
      const pauseMs = atMs - clock.monotonicMs();
      if (pauseMs > 0) {
        sleeping = { untilMs: atMs, wake: new AbortController() };
        await clock.sleep(pauseMs, sleeping.wake.signal);
        sleeping = undefined;
      } else {
        // A heartbeat that was not written costs a resend at most; the next one comes in time.
        await inTurn(heartbeat).catch(() => clock.sleep(limits.heartbeatMsMin / 2));
      }
    }
    looping = false;
  }

  async function heartbeat(): Promise<void> {
    const nowMs = clock.monotonicMs();
    if ([...entries].some((entry) => dueMs(entry) <= nowMs)) return write();
    await blobs.remove(names.coordination, name);
    written = undefined;
    etag = undefined;
  }

  async function write(): Promise<void> {
    const nowMs = clock.monotonicMs();
    const listed = [...entries].sort((a, b) => Number(b.begun) - Number(a.begun) || a.sinceMs - b.sinceMs);
    const longestMs = Math.max(0, ...listed.map(({ sinceMs }) => nowMs - sinceMs));
    const everyMs = Math.round(
      Math.min(Math.max(longestMs / 4, limits.heartbeatMsMin), limits.heartbeatMsMax),
    );
    const works = listed.map(({ message, work, sinceMs, begun, chunkNow }) => ({
      run: message.run,
      uid: message.uid,
      work,
      generation: message.gen,
      send: message.send,
      ageMs: nowMs - sinceMs,
      begun,
      isolated: message.isolated === true,
      chunk: chunkNow?.(),
      ...(message.kind === "compute" ? { chunks: { from: message.from, to: message.to } } : {}),
    }));
    await put(encodeHeartbeat({ ...about, memoryMb: memoryMb(), everyMs, works }));
    written = { atMs: nowMs, everyMs, listed: new Set(listed) };
  }

  /** Only this process writes the blob, but a call without a reply may have been carried out, and anybody may delete it. */
  async function put(metadata: Readonly<Record<string, string>>): Promise<void> {
    for (let tried = 0; tried < 2; tried += 1) {
      if (etag !== undefined) {
        const replaced = await blobs.setMetadata(names.coordination, name, metadata, { ifMatch: etag });
        etag = replaced.kind === "replaced" ? replaced.etag : undefined;
        if (etag !== undefined) return;
      }
      const created = await blobs.create(names.coordination, name, "", { metadata });
      if (created.kind === "created") etag = created.etag;
      if (etag !== undefined) return;
      const there = await blobs.head(names.coordination, name);
      if (there.kind === "found") etag = there.properties.etag;
    }
    throw new Error(`the heartbeat ${name} changes between two calls`);
  }

  function watch(entry: Entry): void {
    if (sleeping !== undefined && dueMs(entry) < sleeping.untilMs) sleeping.wake.abort();
    // For all runs that work here.
    if (!looping && !stopped) void loop();
  }

  function remove(entry: Entry): void {
    entries.delete(entry);
    if (written !== undefined && !holds(written.listed)) sleeping?.wake.abort();
  }

  return {
    hold(message) {
      const work = workOf(message);
      if (work === undefined) return { begin: async () => {}, end() {} };
      const entry: Entry = { message, work, sinceMs: clock.monotonicMs(), begun: false, confirmed: false };
      let ended = false;
      entries.add(entry);
      watch(entry);
      return {
        async begin(chunkNow) {
          entry.chunkNow = chunkNow;
          if (!entry.begun) Object.assign(entry, { begun: true, sinceMs: clock.monotonicMs() });
          // Nothing speaks against a first send that an earlier leader may have sent too.
          if (message.repeat !== true || message.send === 1 || entry.confirmed) return;
          await inTurn(write);
          entry.confirmed = true;
        },
        end(laterMs = 0) {
          if (ended) return;
          ended = true;
          if (entry.begun) lasting.add(message.uid, clock.monotonicMs() - entry.sinceMs);
          entry.begun = false;
          if (laterMs === 0) remove(entry);
          else clock.after(laterMs, () => remove(entry));
        },
      };
    },
    async stop() {
      stopped = true;
      sleeping?.wake.abort();
      if (written !== undefined) await inTurn(() => blobs.remove(names.coordination, name));
    },
  };
}

const durationsKept = 9;
const runsKept = 100;

/** After what time the work of a run lasts: later where its work usually takes long, which then ends without a heartbeat. */
function durationsOf() {
  const latest = new Map<string, number[]>();
  return {
    afterMs(uid: string): number {
      const sorted = [...(latest.get(uid) ?? [])].sort((a, b) => a - b);
      const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
      return Math.min(Math.max(2 * median, limits.heartbeatAfterMs), limits.heartbeatAfterMsMax);
    },
    add(uid: string, ms: number): void {
      const durations = [...(latest.get(uid) ?? []), ms].slice(-durationsKept);
      setLatest(latest, uid, durations, runsKept);
    },
  };
}
