import { InputError } from "../../model/errors.ts";
import { shownIdentity } from "../../model/identity.ts";
import { limits } from "../../model/limits.ts";
import { type Marker, wantMoves } from "../../model/marker.ts";
import { isFinal, type State } from "../../model/state.ts";
import { unknownRun } from "../runDocuments.ts";
import type { CommandFacts } from "./facts.ts";

/** What may be asked of a run that is under way. */
type Steering =
  | { readonly kind: "pause" }
  | { readonly kind: "resume" }
  /** With `keep` the run finishes with what is done. */
  | { readonly kind: "cancel"; readonly keep?: boolean }
  /** Packs in flight at most. */
  | { readonly kind: "cap"; readonly cap: number };

/** A retry by other code than before is refused unless it says how. */
interface Retry {
  readonly kind: "retry";
  /** All packs anew under a new plan, or what is missing beside what is there. */
  readonly redo?: Marker["redo"];
  /** Identity of the code that instances have now, where the caller knows better than this process. */
  readonly code?: string | undefined;
}

/** What may be asked of a run. */
export type Change = Steering | Retry | { readonly kind: "delete" };

export type Next =
  /** `stands`: the marker says so already, and nothing is written. */
  | { readonly kind: "write" | "stands"; readonly marker: Marker }
  /** An older run of this id is on its way out, or has just gone. */
  | { readonly kind: "leaving" };

/**
 * Pure: the marker that a command leads to. Throws `InputError`: `unknown-run`, and `conflict` with `too-late`,
 * `not-accepted`, `not-allowed`, `being-deleted`, `nothing-to-retry`, `still-working` or `other-code`.
 */
export function nextMarker(id: string, change: Change, facts: CommandFacts): Next {
  const { uid, hasSpec, marker, markerEtag } = facts;
  if (!hasSpec && markerEtag === undefined) throw unknownRun(id);
  if (marker !== undefined && marker.uid !== uid) return { kind: "leaving" };
  if (change.kind === "delete") return deletion(facts);
  // A deletion removes the spec before the marker.
  if (!hasSpec) return { kind: "leaving" };
  if (marker?.want === "delete") throw beingDeleted(id);
  return change.kind === "retry" ? nextGeneration(id, change, facts) : withinGeneration(id, change, facts);
}

/** A run can be deleted at any time, also where only a part of it is there or can be read. */
function deletion({ uid, marker, state }: CommandFacts): Next {
  if (marker?.want === "delete") return { kind: "stands", marker };
  const from = marker ?? closedMarker(uid, state);
  return { kind: "write", marker: { ...from, want: "delete", command: from.command + 1 } };
}

/** A retry is a marker of the next generation; asked for twice it is one. */
function nextGeneration(id: string, change: Retry, facts: CommandFacts): Next {
  const { uid, marker, state, manifest } = facts;
  if (marker !== undefined && state !== undefined && marker.generation > state.generation) {
    if (marker.want === "cancelled") throw stillWorking(id, "being cancelled");
    if (change.redo !== undefined && marker.redo !== change.redo) throw stillWorking(id, "being retried");
    return { kind: "stands", marker };
  }
  if (state === undefined || !isFinal(state.phase)) {
    throw marker === undefined ? notAccepted(id) : stillWorking(id, state?.phase ?? "waiting");
  }
  if (state.phase === "complete" && manifest?.complete === true && change.redo !== "recompute") {
    throw conflict("nothing-to-retry", `run ${id} is complete; there is nothing to retry`);
  }
  const { keep: _keep, redo: _redo, code: _code, ...from } = marker ?? closedMarker(uid, state);
  const generation = state.generation + 1;
  const turn = Math.max(from.turn, state.turn) + 1;
  const command = Math.max(from.command, state.command) + 1;
  const how = howToRedo(id, change, state, change.code ?? facts.code);
  return { kind: "write", marker: { ...from, ...how, want: "run", generation, turn, command } };
}

/** What other code than before is to do with what is there. `here`: the identity of the code that instances have now. */
function howToRedo(
  id: string,
  { redo }: Retry,
  state: State,
  here: string | undefined,
): Pick<Marker, "redo" | "code"> {
  const same = state.code === undefined || here === undefined || here === state.code;
  if (redo === undefined && !same) throw otherCode(id, state.code ?? "", here ?? "");
  if (redo === "mix" && here === undefined) {
    const cure = "name its file in LEASEFOLD_CALCULATIONS, or ask the instances over HTTP";
    throw conflict("unknown-code", `nobody here knows which code the instances of run ${id} have; ${cure}`);
  }
  if (redo === undefined || (redo === "mix" && same)) return {};
  const code = here === undefined ? {} : { code: here };
  // Nothing was computed, so there is nothing to mix with.
  return { redo: state.layout === undefined ? "recompute" : redo, ...code };
}

function withinGeneration(id: string, change: Steering, { marker, state }: CommandFacts): Next {
  // The marker of a finished run stays until its clean-up; only a higher generation asks for new work.
  if (state !== undefined && isFinal(state.phase) && (marker?.generation ?? 0) <= state.generation) {
    throw conflict("too-late", `run ${id} is ${state.phase} already`);
  }
  if (marker === undefined) throw notAccepted(id);
  const { want, cap } = wishOf(change, marker);
  if (!wantMoves[marker.want].includes(want)) {
    throw conflict("not-allowed", `run ${id} is ${marker.want} and cannot become ${want}`);
  }
  const keep = keepOf(id, change, marker);
  if (want === marker.want && cap === marker.cap) return { kind: "stands", marker };
  const newTurn = want !== marker.want && want !== "cancelled";
  const turn = newTurn ? marker.turn + 1 : marker.turn;
  return { kind: "write", marker: { ...marker, ...keep, want, cap, turn, command: marker.command + 1 } };
}

/** A cancelled run is on its way to its end, with what is done or without; that is not changed any more. */
function keepOf(id: string, change: Steering, marker: Marker): Pick<Marker, "keep"> {
  if (change.kind !== "cancel") return {};
  const keeps = marker.keep === "1";
  if (marker.want !== "cancelled" || keeps === (change.keep === true))
    return change.keep === true ? { keep: "1" } : {};
  const now = keeps
    ? "is being finished with what is done; it cannot be ended without a result"
    : "is being cancelled; it cannot be finished with what is done";
  throw conflict("not-allowed", `run ${id} ${now}`);
}

function wishOf(change: Steering, { want, cap }: Marker): Pick<Marker, "want" | "cap"> {
  switch (change.kind) {
    case "pause":
      return { want: "paused", cap };
    case "resume":
      return { want: "run", cap };
    case "cancel":
      return { want: "cancelled", cap };
    case "cap":
      return { want, cap: change.cap };
  }
}

/** What the marker of a closed run would say if it were still there. */
const closedMarker = (uid: string, state: State | undefined): Marker => ({
  uid,
  want: "run",
  generation: state?.generation ?? 1,
  cap: state?.cap ?? limits.capDefault,
  turn: state?.turn ?? 0,
  command: state?.command ?? 0,
});

const conflict = (code: string, message: string): InputError => new InputError("conflict", code, message);

export const beingDeleted = (id: string): InputError =>
  conflict("being-deleted", `run ${id} is being deleted`);

const stillWorking = (id: string, how: string): InputError =>
  conflict("still-working", `run ${id} is ${how}; only a run that has ended can be retried`);

const otherCode = (id: string, before: string, here: string): InputError =>
  conflict(
    "other-code",
    `run ${id} was computed by ${shownIdentity(before)}; the instances have ${shownIdentity(here)} now. Retry with ` +
      `--recompute (all packs anew) or --mix (the result records both), or start instances with ${shownIdentity(before)}`,
  );

const notAccepted = (id: string): InputError =>
  conflict(
    "not-accepted",
    `the submit of ${id} broke off; submit it again with the same id and request, or delete it`,
  );
