import type { Marker } from "../model/marker.ts";
import type { Work } from "../model/names.ts";
import type { OutputFacts } from "../model/output.ts";
import { foldsPacksDirectly } from "../model/packs.ts";
import type { Manifest, Plan, Spec } from "../model/run.ts";
import type { State } from "../model/state.ts";

/** What one look at storage found of one run. The decisions see storage only through this. */
export interface Seen {
  /** Storage's time of this look. */
  readonly nowMs: number;
  readonly spec: Spec;
  readonly marker: Marker;
  readonly plan?: Plan;
  /** Partials listed, of the shards that were looked at. */
  readonly parts: readonly SeenOutput[];
  /** Level-1 nodes listed. */
  readonly nodes: readonly SeenOutput[];
  readonly failures: readonly SeenFailure[];
  readonly manifest?: Manifest;
}

export interface SeenOutput {
  /** The pack, or the index of the node. */
  readonly index: number;
  readonly facts: OutputFacts;
}

export interface SeenFailure {
  readonly work: Work;
  readonly generation: number;
  readonly send: number;
  readonly cause: string;
  readonly message: string;
}

/** Which calls one look is worth, given the state. Sealed shards are never listed again. */
export interface Wanted {
  readonly plan: boolean;
  readonly shards: readonly number[];
  readonly nodes: boolean;
  readonly failures: boolean;
  readonly manifest: boolean;
}

/** `failuresDue`: failure records are looked for about once a second, whatever the pace of the loop. */
export function wantedOf(state: State, failuresDue: boolean): Wanted {
  const layout = state.layout;
  const computing = state.phase === "computing" && layout !== undefined;
  return {
    plan: state.phase === "planning" && "plan" in state.tasks,
    shards: computing ? Object.keys(state.open).map(Number) : [],
    nodes:
      computing &&
      !foldsPacksDirectly(layout) &&
      Object.keys(state.tasks).some((name) => name.startsWith("node/")),
    failures:
      failuresDue &&
      (Object.keys(state.tasks).length > 0 || state.cursor > state.packsDone + state.packsFailed),
    manifest: state.phase === "finishing",
  };
}
