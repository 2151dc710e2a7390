import { limits } from "../model/limits.ts";
import { decodeMarker, type Marker } from "../model/marker.ts";
import type { WorkMessage } from "../model/message.ts";
import type { Names } from "../model/names.ts";
import type { BlobStore, Clock } from "../storage/ports.ts";

/**
 * Tells whether a message's work is still wanted, by a successful read of the run's marker that is at most five
 * seconds old; a message with a higher turn than that read knows makes it read again, and so does the end of a send,
 * whose record must not outlive its run.
 */
export interface MarkerWatch {
  /** Why the work is not wanted, or undefined when it is. Throws when storage cannot be read. */
  unwanted(message: WorkMessage, moment: Moment): Promise<string | undefined>;
}

/** A thread takes the work; its output is about to be written; it has ended without one. */
export type Moment = "begin" | "write" | "end";

interface Reading {
  readonly atMs: number;
  readonly marker: Marker | undefined;
}

export function markerWatch(blobs: BlobStore, names: Names, clock: Clock): MarkerWatch {
  const readings = new Map<string, Promise<Reading>>();

  async function read(run: string): Promise<Reading> {
    const atMs = clock.monotonicMs();
    const found = await blobs.head(names.active, run);
    const marker = found.kind === "found" ? decodeMarker(found.properties.metadata, run) : undefined;
    return { atMs, marker };
  }

  /** Reads the marker; threads that ask meanwhile share the answer. */
  function readAgain(run: string): Promise<Reading> {
    const reading = read(run);
    readings.set(run, reading);
    reading.catch(() => readings.delete(run));
    if (readings.size > markersKept) readings.delete(readings.keys().next().value as string);
    return reading;
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
  };
}

const markersKept = 200;

/** Clean-up comes when the marker may be gone already; what clients ask is about runs in any state. */
const unasked: ReadonlySet<WorkMessage["kind"]> = new Set(["cleanup", "sofar", "verify"]);

/**
 * The rule of DESIGN 3.11 as a pure function. A pack that was begun is written whatever was commanded meanwhile: its
 * partial is right under every turn and generation, and throwing it away would only cost its computing again.
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
  if (message.kind === "compute" && moment !== "begin") return undefined;
  if (marker.generation > message.gen) return "a later generation is at work";
  if (message.kind !== "compute") return undefined;
  if (marker.want === "paused") return "the run is paused";
  if (marker.want === "cancelled") return "the run is cancelled";
  if (marker.turn > message.turn) return "the run was paused and resumed since";
  return undefined;
}
