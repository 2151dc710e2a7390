import { limits } from "../model/limits.ts";
import { decodeMarker, type Marker } from "../model/marker.ts";
import type { WorkMessage } from "../model/message.ts";
import type { Names } from "../model/names.ts";
import type { BlobStore, Clock } from "../storage/ports.ts";
import { type Attempt, DroppedError, type WorkerPorts } from "./ports.ts";
import type { TaskOptions } from "./threads/userCode.ts";

/** Throws `DroppedError` when the run no longer wants this work. */
export async function stillWanted(
  ports: Pick<WorkerPorts, "watch">,
  message: WorkMessage,
  moment: Moment,
): Promise<void> {
  const why = await ports.watch.unwanted(message, moment);
  if (why !== undefined) throw new DroppedError(why);
}

/** User code under the limits of its attempt, run only if its work is still wanted when a thread takes it. */
export const whileWanted = (
  ports: Pick<WorkerPorts, "watch">,
  { message, limitMs, alone, signal, begin }: Attempt,
  urgent = true,
): TaskOptions => ({
  ...{ urgent, limitMs, alone, signal },
  async onStart() {
    await stillWanted(ports, message, "begin");
    await begin();
  },
});

/**
 * Tells whether a message's work is still wanted, by a successful read of the run's marker that is at most five
 * seconds old; a message with a higher turn than that read knows makes it read again, and so does the end of a send,
 * whose record must not outlive its run.
 */
export interface MarkerWatch {
  /** Why the work is not wanted, or undefined when it is. Throws when storage cannot be read. */
  unwanted(message: WorkMessage, moment: Moment): Promise<string | undefined>;
  /**
   * Does the work under a signal that fires with a `DroppedError` once it is not wanted any more. Work that takes long
   * is asked about every `wantedEveryMs`, in one call for all that this process does.
   */
  during<T>(message: WorkMessage, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

/** A thread takes the work; it computes; its output is about to be written; it has ended without one. */
export type Moment = "begin" | "during" | "write" | "end";

interface Running {
  readonly message: WorkMessage;
  readonly sinceMs: number;
  readonly stop: AbortController;
}

interface Reading {
  readonly atMs: number;
  readonly marker: Marker | undefined;
}

export function markerWatch(blobs: BlobStore, names: Names, clock: Clock): MarkerWatch {
  const readings = new Map<string, Promise<Reading>>();
  const running = new Set<Running>();
  let polling = false;

  async function read(run: string): Promise<Reading> {
    const atMs = clock.monotonicMs();
    const found = await blobs.head(names.active, run);
    const marker = found.kind === "found" ? decodeMarker(found.properties.metadata, run) : undefined;
    return { atMs, marker };
  }

  /** Reads the marker; threads that ask meanwhile share the answer. */
  function readAgain(run: string): Promise<Reading> {
    const reading = read(run);
    return keep(run, reading);
  }

  function keep(run: string, reading: Promise<Reading>): Promise<Reading> {
    readings.set(run, reading);
    reading.catch(() => readings.delete(run));
    if (readings.size > markersKept) readings.delete(readings.keys().next().value as string);
    return reading;
  }

  /** Reads the markers of these runs in one call: of a single one by itself, else from the list of all. */
  async function readTogether(runs: ReadonlySet<string>): Promise<void> {
    const [only] = runs;
    if (runs.size === 1 && only !== undefined) return void (await readAgain(only));
    const atMs = clock.monotonicMs();
    const found = new Map<string, Readonly<Record<string, string>>>();
    let cursor: string | undefined;
    do {
      const page = await blobs.list(names.active, "", { metadata: true, cursor });
      for (const { name, metadata } of page.blobs) if (runs.has(name)) found.set(name, metadata);
      cursor = page.cursor;
    } while (cursor !== undefined);
    for (const run of runs) void keep(run, decoded(run, found.get(run), atMs)).catch(() => {});
  }

  /** Ends what is not wanted any more, for as long as anything runs. */
  async function poll(): Promise<void> {
    while (running.size > 0) {
      const oldestMs = Math.min(...[...running].map(({ sinceMs }) => sinceMs));
      await clock.sleep(Math.max(oldestMs + limits.wantedEveryMs - clock.monotonicMs(), 1));
      while (await endUnwanted()) await clock.sleep(limits.wantedEveryMs);
    }
    polling = false;
  }

  /** False where nothing has been running for long enough to be asked about. */
  async function endUnwanted(): Promise<boolean> {
    const isLong = ({ sinceMs }: Running): boolean =>
      clock.monotonicMs() - sinceMs >= limits.wantedEveryMs - clockStepMs;
    if (![...running].some(isLong)) return false;
    const all = [...running];
    try {
      await readTogether(new Set(all.map(({ message }) => message.run)));
      for (const { message, stop } of all) {
        const reading = await readings.get(message.run)?.catch(() => undefined);
        const why = reading === undefined ? undefined : verdict(message, reading.marker, "during");
        if (why !== undefined) stop.abort(new DroppedError(why));
      }
    } catch {
      // What cannot be read says nothing; it is asked again.
    }
    return true;
  }

  return {
    async unwanted(message, moment) {
      if (unasked.has(message.kind)) return undefined;
      let reading = await (readings.get(message.run) ?? readAgain(message.run));
      const { marker } = reading;
      // A reading that knows less than the message is too old to judge it: the message came later.
      const behind =
        marker?.uid !== message.uid || message.gen > marker.generation || message.turn > marker.turn;
      const old = moment === "end" || clock.monotonicMs() - reading.atMs > limits.markerTrustMs;
      if (old || behind) reading = await readAgain(message.run);
      return verdict(message, reading.marker, moment);
    },
    async during(message, work) {
      const one = { message, sinceMs: clock.monotonicMs(), stop: new AbortController() };
      if (unasked.has(message.kind)) return work(one.stop.signal);
      running.add(one);
      if (!polling) {
        polling = true;
        void poll();
      }
      try {
        return await work(one.stop.signal);
      } finally {
        running.delete(one);
      }
    },
  };
}

/** Rejects for a marker that does not decode; it says nothing of other runs. */
async function decoded(
  run: string,
  metadata: Readonly<Record<string, string>> | undefined,
  atMs: number,
): Promise<Reading> {
  return { atMs, marker: metadata === undefined ? undefined : decodeMarker(metadata, run) };
}

/** Timers may fire a little early. */
const clockStepMs = 5;

const markersKept = 200;

/** Clean-up comes when the marker may be gone already; what clients ask is about runs in any state. */
const unasked: ReadonlySet<WorkMessage["kind"]> = new Set(["cleanup", "sofar", "verify"]);

/**
 * The rule of DESIGN 3.11 as a pure function. A pack that was begun is written whatever was commanded meanwhile: its
 * partial is right under every turn and generation, and throwing it away would only cost its computing again. Its
 * computing ends with the run, or when the run is cancelled.
 */
export function verdict(
  message: WorkMessage,
  marker: Marker | undefined,
  moment: Moment,
): string | undefined {
  if (unasked.has(message.kind)) return undefined;
  if (marker === undefined) return "the run has ended";
  if (marker.uid !== message.uid) return "the id belongs to another run now";
  if (marker.want === "delete") return "the run is being deleted";
  if (marker.generation < message.gen) return "nobody asked for its generation";
  if (message.kind === "compute" && moment !== "begin")
    return moment === "during" && marker.want === "cancelled" ? "the run is cancelled" : undefined;
  if (marker.generation > message.gen) return "a later generation is at work";
  if (message.kind !== "compute") return undefined;
  if (marker.want === "paused") return "the run is paused";
  if (marker.want === "cancelled") return "the run is cancelled";
  if (marker.turn > message.turn) return "the run was paused and resumed since";
  return undefined;
}
