import { InputError, inputsChanged, planLost } from "../../model/errors.ts";
import { namePattern, shownIdentity } from "../../model/identity.ts";
import { limits } from "../../model/limits.ts";
import { type Marker, wantMoves } from "../../model/marker.ts";
import type { Manifest } from "../../model/run.ts";
import { isFinal, type State } from "../../model/state.ts";
import { unknownRun } from "../runDocuments.ts";

/** A command to a run in progress. */
type Steering =
  | { readonly kind: "pause" }
  | { readonly kind: "resume" }
  /** With `keep` the run finishes with what is done. */
  | { readonly kind: "cancel"; readonly keep?: boolean }
  /** Packs in flight at most, and dollars. */
  | { readonly kind: "cap"; readonly cap?: number | undefined; readonly maxCost?: number | undefined };

/** Computes what is missing, with the same code and the same inputs. */
interface Retry {
  readonly kind: "retry";
  /** The generation that it begins. One that began before is not begun again, so that a lost reply starts no second one. */
  readonly generation?: number | undefined;
}

export type Change = Steering | Retry | { readonly kind: "delete" };

export interface CommandFacts {
  /** Of the spec; without a spec, of the marker, or for a deletion of the state; empty without any. */
  readonly uid: string;
  readonly hasSpec: boolean;
  readonly marker: Marker | undefined;
  /** Present also if the marker does not decode. */
  readonly markerEtag: string | undefined;
  readonly state: State | undefined;
  /** Identity of the calculation's code in this process, if it has the calculation. */
  readonly code?: string | undefined;
  /** Manifest of the state's generation: only for the retry of a run that has ended. */
  readonly manifest?: Manifest | undefined;
}

type Decision =
  /** `unchanged`: the marker already says so, and nothing is written. */
  | { readonly kind: "write" | "unchanged"; readonly marker: Marker }
  /** An older run of this id is being deleted, or has just been deleted. */
  | { readonly kind: "deleting" };

/**
 * Pure: the marker that a command writes. Throws `InputError`: `unknown-run`, and `conflict` with `too-late`,
 * `not-accepted`, `not-allowed`, `being-deleted`, `nothing-to-retry`, `still-working`, `wrong-generation`, `other-code`,
 * `inputs-changed` or `plan-lost`.
 */
export function decideCommand(id: string, change: Change, facts: CommandFacts): Decision {
  const { uid, hasSpec, marker, markerEtag } = facts;
  if (uid === "" && markerEtag === undefined) throw unknownRun(id);
  if (marker !== undefined && marker.uid !== uid) return { kind: "deleting" };
  if (change.kind === "delete") return decideDeletion(facts);
  // A deletion removes the spec before the marker.
  if (!hasSpec) return { kind: "deleting" };
  if (marker?.want === "delete") throw beingDeleted(id);
  return change.kind === "retry" ? decideRetry(id, change, facts) : decideSteering(id, change, facts);
}

/** A run can be deleted at any time, also if its documents are incomplete or unreadable. */
function decideDeletion({ uid, marker, state }: CommandFacts): Decision {
  if (marker?.want === "delete" && marker.by === undefined) return { kind: "unchanged", marker };
  // A person's word replaces the expiry's, which counts for one state only.
  const { by: _by, judged: _judged, ...from } = marker ?? markerBy(uid, state);
  return { kind: "write", marker: { ...from, want: "delete", command: from.command + 1 } };
}

/** A retry writes a marker of the next generation. Repeating it changes nothing while that one works, or if it is named. */
function decideRetry(id: string, change: Retry, facts: CommandFacts): Decision {
  const { uid, marker, state, manifest } = facts;
  if (marker !== undefined && state !== undefined && marker.generation > state.generation) {
    if (marker.want === "cancelled") throw stillWorking(id, "being cancelled");
    return { kind: "unchanged", marker };
  }
  const now = state?.generation ?? 1;
  if (change.generation !== undefined && change.generation > now + 1)
    throw conflict(
      "wrong-generation",
      `run ${id} is at generation ${now}; a retry begins generation ${now + 1}`,
    );
  if (change.generation !== undefined && change.generation <= now)
    return { kind: "unchanged", marker: marker ?? markerBy(uid, state) };
  if (state === undefined || !isFinal(state.phase))
    throw marker === undefined ? notAccepted(id) : stillWorking(id, state?.phase ?? "waiting");
  if (state.phase === "complete" && manifest?.complete === true)
    throw conflict("nothing-to-retry", `run ${id} is complete; there is nothing to retry`);
  checkSame(id, state, facts.code);
  const { keep: _keep, ...from } = marker ?? markerBy(uid, state);
  const generation = state.generation + 1;
  const turn = Math.max(from.turn, state.turn) + 1;
  const command = Math.max(from.command, state.command) + 1;
  return { kind: "write", marker: { ...from, want: "run", generation, turn, command } };
}

/** Throws where a retry would compute with other code, or meet other inputs or a lost plan again. `here`: the identity of the instances' code. */
function checkSame(id: string, { code, error }: State, here: string | undefined): void {
  // Whoever may create specs chose it, and people paste the command into a shell.
  const [named = ""] = (code ?? here ?? "").split("@");
  const name = namePattern.test(named) ? named : "CALCULATION";
  const another = (more = ""): string =>
    `compute it as another run: leasefold submit ${name} … --reuse ${id}${more}`;
  if (code !== undefined && here !== undefined && here !== code)
    throw conflict(
      "other-code",
      `run ${id} was computed by ${shownIdentity(code)}; the instances have ${shownIdentity(here)} now. Start instances ` +
        `with ${shownIdentity(code)}, or ${another(" --accept-code")}`,
    );
  if (error?.code === inputsChanged)
    throw conflict(
      inputsChanged,
      `run ${id} failed because its inputs have changed (${error.message}); ${another()}`,
    );
  // Partials are found by the plan: without it none can be reused.
  if (error?.code === planLost)
    throw conflict(
      planLost,
      `run ${id} failed because its plan is gone (${error.message}); compute it as another run: leasefold submit ${name} …`,
    );
}

function decideSteering(id: string, change: Steering, { marker, state }: CommandFacts): Decision {
  // The marker of a finished run stays until its clean-up; only a higher generation asks for new work.
  if (state !== undefined && isFinal(state.phase) && (marker?.generation ?? 0) <= state.generation)
    throw conflict("too-late", `run ${id} is ${state.phase} already`);
  if (marker === undefined) throw notAccepted(id);
  const asked = change.kind === "cap" ? change : undefined;
  const { cap, dollars } = { cap: asked?.cap ?? marker.cap, dollars: asked?.maxCost ?? marker.dollars };
  const want = change.kind === "cap" ? marker.want : steeringWants[change.kind];
  if (!wantMoves[marker.want].includes(want))
    throw conflict("not-allowed", `run ${id} is ${marker.want} and cannot become ${want}`);
  const keep = change.kind === "cancel" ? keepOf(id, change.keep === true, marker) : {};
  if (want === marker.want && cap === marker.cap && dollars === marker.dollars)
    return { kind: "unchanged", marker };
  const newTurn = want !== marker.want && want !== "cancelled";
  const turn = newTurn ? marker.turn + 1 : marker.turn;
  return {
    kind: "write",
    marker: { ...marker, ...keep, want, cap, dollars, turn, command: marker.command + 1 },
  };
}

const steeringWants = { pause: "paused", resume: "run", cancel: "cancelled" } as const;

/** Whether a cancelled run finishes with what is done cannot be changed by a later cancel. */
function keepOf(id: string, keep: boolean, marker: Marker): Pick<Marker, "keep"> {
  const keeps = marker.keep === "1";
  if (marker.want !== "cancelled" || keeps === keep) return keep ? { keep: "1" } : {};
  const now = keeps
    ? "is being finished with what is done; it cannot be ended without a result"
    : "is being cancelled; it cannot be finished with what is done";
  throw conflict("not-allowed", `run ${id} ${now}`);
}

/** What the marker of a run would say if it still existed. A pause outlives the loss of its marker. */
export const markerBy = (uid: string, state: State | undefined): Marker => ({
  uid,
  spec: state?.spec,
  want: state?.paused === true && !isFinal(state.phase) ? "paused" : "run",
  generation: state?.generation ?? 1,
  cap: state?.cap ?? limits.capDefault,
  dollars: state?.maxCost,
  turn: state?.turn ?? 0,
  command: state?.command ?? 0,
});

const conflict = (code: string, message: string): InputError => new InputError("conflict", code, message);

export const beingDeleted = (id: string): InputError =>
  conflict("being-deleted", `run ${id} is being deleted`);

const stillWorking = (id: string, how: string): InputError =>
  conflict("still-working", `run ${id} is ${how}; only a run that has ended can be retried`);

const notAccepted = (id: string): InputError =>
  conflict(
    "not-accepted",
    `the submit of ${id} did not complete; submit it again with the same id and request, or delete it`,
  );
