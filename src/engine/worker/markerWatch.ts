import { limits } from "../model/limits.ts";
import { decodeMarker, type Marker } from "../model/marker.ts";
import type { WorkMessage } from "../model/message.ts";
import type { Names } from "../model/names.ts";
import { pagesOf } from "../storage/callSteps.ts";
import type { BlobStore, Clock, Metadata } from "../storage/ports.ts";
import { type Attempt, DroppedError, type MarkerWatch, type WorkerPorts, type WorkStage } from "./ports.ts";
import { setLatest } from "./setLatest.ts";
import type { TaskOptions } from "./threads/userCode.ts";

/** Throws `DroppedError` when the run no longer wants this work. */
export async function stillWanted(
  { watch }: WorkerPorts,
  message: WorkMessage,
  stage: WorkStage,
): Promise<void> {
  const why = await watch.unwanted(message, stage);
  if (why !== undefined) throw new DroppedError(why);
}

/** Options for user code under the limits of its attempt, run only if its work is still wanted when a thread takes it. */
export const taskOptions = (
  ports: WorkerPorts,
  { message, limitMs, isolated, signal, begin, onPrint }: Attempt,
  urgent = true,
): TaskOptions => ({
  urgent,
  limitMs,
  run: `${message.uid} ${message.gen}`,
  isolated,
  signal,
  onPrint,
  async onStart(chunkNow) {
    await stillWanted(ports, message, "begin");
    await begin(chunkNow);
  },
});

export function markerWatch(blobs: BlobStore, names: Names, clock: Clock): MarkerWatch {
  const readings = markerReadings(blobs, names, clock);
  const running = runningWork(readings, clock);
  return {
    async unwanted(message, stage) {
      if (withoutMarker.has(message.kind)) return undefined;
      let reading = await readings.latest(message.run);
      const { marker } = reading;
      // A reading that knows less than the message is older than the message.
      const behind =
        marker?.uid !== message.uid || message.gen > marker.generation || message.turn > marker.turn;
      const old = stage === "end" || clock.monotonicMs() - reading.atMs > limits.markerTrustMs;
      if (old || behind) reading = await readings.read(message.run);
      return unwantedReason(message, reading.marker, stage);
    },
    specHash: async (message) =>
      withoutMarker.has(message.kind) ? undefined : (await readings.known(message.run))?.marker?.spec,
    async during(message, work) {
      const one = { message, sinceMs: clock.monotonicMs(), stop: new AbortController() };
      if (withoutMarker.has(message.kind)) return work(one.stop.signal);
      running.add(one);
      try {
        return await work(one.stop.signal);
      } finally {
        running.remove(one);
      }
    },
  };
}

interface Reading {
  readonly atMs: number;
  readonly marker: Marker | undefined;
}

type MarkerReadings = ReturnType<typeof markerReadings>;

/** The latest reading of each run's marker. Whoever asks while a read is under way shares its answer. */
function markerReadings(blobs: BlobStore, { active }: Names, clock: Clock) {
  const readings = new Map<string, Promise<Reading>>();

  function keep(run: string, reading: Promise<Reading>): Promise<Reading> {
    setLatest(readings, run, reading, markersKept);
    reading.catch(() => readings.delete(run));
    return reading;
  }

  const read = (run: string): Promise<Reading> => keep(run, headOf(run));

  async function headOf(run: string): Promise<Reading> {
    const atMs = clock.monotonicMs();
    const found = await blobs.head(active, run);
    return decoded(run, found.kind === "found" ? found.properties.metadata : undefined, atMs);
  }

  return {
    read,
    latest: (run: string): Promise<Reading> => readings.get(run) ?? read(run),
    /** Reads the markers of these runs in one call: one run by its own blob, several by the list of all. */
    async readAll(runs: ReadonlySet<string>): Promise<void> {
      const [only] = runs;
      if (runs.size === 1 && only !== undefined) return void (await read(only));
      const atMs = clock.monotonicMs();
      const found = new Map<string, Metadata>();
      for await (const page of pagesOf(blobs, active, "", { metadata: true }))
        for (const { name, metadata } of page.blobs) if (runs.has(name)) found.set(name, metadata);
      // A marker that does not decode says nothing of other runs.
      for (const run of runs) void keep(run, decoded(run, found.get(run), atMs)).catch(() => {});
    },
    /** The latest successful reading. */
    async known(run: string): Promise<Reading | undefined> {
      return readings.get(run)?.catch(() => undefined);
    },
  };
}

const decoded = async (run: string, metadata: Metadata | undefined, atMs: number): Promise<Reading> => ({
  atMs,
  marker: metadata === undefined ? undefined : decodeMarker(metadata, run),
});

interface Running {
  readonly message: WorkMessage;
  readonly sinceMs: number;
  readonly stop: AbortController;
}

/** The work of this process that is under way. Reads markers while some of it is long, and ends what is unwanted. */
function runningWork(readings: MarkerReadings, clock: Clock) {
  const running = new Set<Running>();
  let polling = false;

  async function poll(): Promise<void> {
    while (running.size > 0) {
      const oldestMs = Math.min(...[...running].map(({ sinceMs }) => sinceMs));
      await clock.sleep(Math.max(oldestMs + limits.wantedEveryMs - clock.monotonicMs(), 1));
      while (isAnyLong()) {
        await endUnwanted();
        await clock.sleep(limits.wantedEveryMs);
      }
    }
    polling = false;
  }

  const isAnyLong = (): boolean =>
    [...running].some(({ sinceMs }) => clock.monotonicMs() - sinceMs >= limits.wantedEveryMs - clockStepMs);

  async function endUnwanted(): Promise<void> {
    const all = [...running];
    try {
      await readings.readAll(new Set(all.map(({ message }) => message.run)));
      for (const { message, stop } of all) {
        const reading = await readings.known(message.run);
        const why = reading === undefined ? undefined : unwantedReason(message, reading.marker, "during");
        if (why !== undefined) stop.abort(new DroppedError(why));
      }
    } catch {
      // A read that failed says nothing; the next poll reads again.
    }
  }

  return {
    add(one: Running): void {
      running.add(one);
      if (polling) return;
      polling = true;
      // For all runs that work here.
      void poll();
    },
    remove: (one: Running): void => void running.delete(one),
  };
}

/** Timers may fire a little early. */
const clockStepMs = 5;

const markersKept = 200;

/** Clean-up comes when the marker may be gone already; what clients ask is about runs in any state. */
const withoutMarker: ReadonlySet<WorkMessage["kind"]> = new Set(["cleanup", "sofar", "verify"]);

/**
 * Why a marker makes a message's work unwanted, by rule *wanted work*; undefined where it is wanted. A begun pack is written
 * whatever was commanded meanwhile: its partial is right under every turn and generation, and dropping it would only cost
 * its computing again. Its computing ends with the run, or when the run is cancelled.
 */
export function unwantedReason(
  message: WorkMessage,
  marker: Marker | undefined,
  stage: WorkStage,
): string | undefined {
  if (withoutMarker.has(message.kind)) return undefined;
  if (marker === undefined) return "the run has ended";
  if (marker.uid !== message.uid) return "the id belongs to another run now";
  if (marker.want === "delete") return "the run is being deleted";
  if ([message.spec, marker.spec].every((spec) => spec !== undefined) && message.spec !== marker.spec)
    return "it names another spec than the run's";
  if (marker.generation < message.gen) return "nobody asked for its generation";
  if (message.kind === "compute" && stage !== "begin")
    return stage === "during" && marker.want === "cancelled" ? "the run is cancelled" : undefined;
  if (marker.generation > message.gen) return "a later generation is at work";
  if (message.kind !== "compute") return undefined;
  if (marker.want === "paused") return "the run is paused";
  if (marker.want === "cancelled") return "the run is cancelled";
  if (marker.turn > message.turn) return "the run was paused and resumed since";
  return undefined;
}
