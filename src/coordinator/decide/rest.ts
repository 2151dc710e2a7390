import { limits } from "../../model/limits.ts";
import { decodeMarker, type Marker } from "../../model/marker.ts";
import type { Spec } from "../../model/run.ts";
import type { State } from "../../model/state.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import type { DecideTime } from "./decide.ts";
import { outOfOrderMs, stragglerAfterMs } from "./pace.ts";

/**
 * Rest: a paused run of which nothing more can come needs no leader. Its marker says so with the number of the command
 * that paused it, so any later command wakes it by its higher number.
 */

/** Whether the packs that were begun before the pause have ended, as far as anybody can tell, and no task is under way. */
export function hasComeToRest(
  state: State,
  marker: Marker,
  { deadline }: Pick<Spec, "deadline">,
  { nowMs, limitMs }: DecideTime,
): boolean {
  // A deadline goes on during a pause, and somebody has to keep it.
  if (deadline !== undefined) return false;
  if (marker.want !== "paused" || !state.paused || state.command !== marker.command) return false;
  if (Object.keys(state.tasks).length > 0 || state.phase !== "computing") return false;
  const begunEndMs = Math.min(stragglerAfterMs(state, limitMs) + outOfOrderMs(state), limitMs);
  return nowMs - (state.pausedAtMs ?? 0) > limits.markerTrustMs + begunEndMs;
}

/** A marker that does not decode is for a leader to deal with. */
export function rests({ name, metadata }: Pick<ListedBlob, "name" | "metadata">): boolean {
  try {
    const { want, command, rests: under } = decodeMarker(metadata, name);
    return want === "paused" && under === command;
  } catch {
    return false;
  }
}
