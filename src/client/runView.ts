import { type CallCounts, dollarsOf, noCalls } from "../model/calls.ts";
import type { Refused } from "../model/identity.ts";
import type { Marker, Want } from "../model/marker.ts";
import { packsOf } from "../model/packs.ts";
import type { Manifest, Spec } from "../model/run.ts";
import { deadlineMs, isFinal, type Phase, type State } from "../model/state.ts";
import { type RemainingTime, remainingTime } from "./estimate/remainingTime.ts";
import type { Read } from "./runDocuments.ts";

/** `waiting`: accepted, but no leader has looked at it yet. */
export type RunPhase = "waiting" | Phase;
/** What people read. `not-accepted`: its submit broke off; submitting it again with the same id completes it. */
export type RunWord = RunPhase | "complete-with-gaps" | "cancelling" | "deleting" | "not-accepted";

/** `pending`: no leader has seen the command yet. */
export type CommandAnswer = "pending" | "done" | "too-late" | "refused";

/** A run as people and programs see it. Times are the storage service's. */
export interface RunView {
  readonly run: string;
  readonly uid: string;
  readonly calculation: string;
  /** Identity of the code that computes or computed it, see `identity.ts`. */
  readonly code?: string;
  /** It waits, because the instances have other code. */
  readonly otherCode?: Refused;
  readonly params: unknown;
  readonly phase: RunPhase;
  readonly word: RunWord;
  /** False once the phase is final. */
  readonly active: boolean;
  readonly paused: boolean;
  /** It finishes with what is done: by a cancel that keeps it, or past its deadline. */
  readonly keep: boolean;
  readonly generation: number;
  readonly cap: number | undefined;
  /** Absent until planned. `sent` are those done, failed and in flight; `again` counts repeated sends, not packs. */
  readonly packs?: Counts & { readonly sent: number; readonly again: number };
  readonly chunks?: Counts;
  readonly rate?: { readonly packsPerS: number; readonly chunksPerS: number };
  readonly submittedAt: string;
  readonly finishedAt?: string;
  /** Past it the run fails, or with `keep` finishes with what is done. */
  readonly deadline?: { readonly at: string; readonly keep: boolean };
  /** The latest attempt that failed while others at the same work are still to come. */
  readonly trying?: NonNullable<State["trying"]>;
  readonly elapsedS: number;
  /** Until the last pack has its outcome; absent while there is nothing to judge by. */
  readonly timeLeft?: RemainingTime;
  /** Who led this run, oldest first. */
  readonly terms: readonly { readonly term: number; readonly holder: string; readonly since: string }[];
  /** The last command given, and what the leader made of it. */
  readonly command?: {
    readonly number: number;
    readonly want: Want | undefined;
    readonly answer: CommandAnswer;
  };
  readonly calls: CallCounts;
  /** What those calls cost at list prices, an estimate. */
  readonly dollars: number;
  readonly error?: { readonly code: string; readonly message: string };
  readonly result?: Pick<
    Manifest,
    "generation" | "contentType" | "bytes" | "sha256" | "folded" | "complete" | "missing" | "code" | "mixed"
  >;
}

interface Counts {
  readonly total: number;
  readonly done: number;
  readonly failed: number;
}

export interface RunFacts {
  readonly spec: Read<Spec>;
  readonly state: Read<State> | undefined;
  readonly marker: Read<Marker> | undefined;
  readonly manifest: Manifest | undefined;
}

/** Pure: what the documents of a run say together. */
export function viewOf({ spec, state: stateRead, marker: markerRead, manifest }: RunFacts): RunView {
  // A marker of another uid belongs to an older run of this id that is on its way out.
  const marker = markerRead?.value.uid === spec.value.uid ? markerRead.value : undefined;
  const state = stateRead?.value;
  const phase = phaseOf(state, marker);
  const active = phase === "waiting" || !isFinal(phase);
  const submittedMs = spec.lastModifiedMs;
  const nowMs = Math.max(spec.dateMs, stateRead?.dateMs ?? 0, markerRead?.dateMs ?? 0);
  const finishedMs = active ? undefined : state?.finishedMs;
  return {
    run: spec.value.run,
    uid: spec.value.uid,
    calculation: spec.value.calculation,
    ...codeOf(spec.value, state, phase),
    params: spec.value.params,
    phase,
    word: wordOf(phase, state, marker, manifest),
    active,
    paused: active && (marker?.want === "paused" || (marker === undefined && state?.paused === true)),
    keep: active && keepsOf(state, marker),
    generation: Math.max(state?.generation ?? 1, marker?.generation ?? 1),
    cap: marker?.cap ?? state?.cap,
    ...(state === undefined ? {} : progressOf(state, phase, nowMs)),
    submittedAt: iso(submittedMs),
    ...(finishedMs === undefined ? {} : { finishedAt: iso(finishedMs) }),
    ...(spec.value.deadline === undefined
      ? {}
      : { deadline: deadlineOf(spec.value.deadline, state ?? { createdMs: submittedMs }) }),
    ...(active && state?.trying !== undefined && phase !== "waiting" ? { trying: state.trying } : {}),
    elapsedS: Math.max(0, (finishedMs ?? nowMs) - submittedMs) / 1000,
    terms: (state?.terms ?? []).map(({ term, holder, atMs }) => ({ term, holder, since: iso(atMs) })),
    ...commandOf(state, marker),
    calls: state?.calls ?? noCalls,
    dollars: dollarsOf(state?.calls ?? noCalls),
    ...(state?.error === undefined || phase === "waiting" ? {} : { error: state.error }),
    ...(manifest === undefined ? {} : { result: resultOf(manifest) }),
  };
}

function codeOf(spec: Spec, state: State | undefined, phase: RunPhase): Pick<RunView, "code" | "otherCode"> {
  // Of an older version's run nothing is known once it is planned.
  const code = state?.layout === undefined ? (state?.code ?? spec.code) : state.code;
  const refused = phase === "waiting" || isFinal(phase) ? undefined : state?.otherCode;
  return {
    ...(code === undefined ? {} : { code }),
    ...(refused === undefined ? {} : { otherCode: { wanted: refused.wanted, theirs: refused.theirs } }),
  };
}

const deadlineOf = (deadline: NonNullable<Spec["deadline"]>, state: Parameters<typeof deadlineMs>[1]) => ({
  at: iso(deadlineMs(deadline, state)),
  keep: deadline.keep,
});

function phaseOf(state: State | undefined, marker: Marker | undefined): RunPhase {
  if (state === undefined) return "waiting";
  // A marker of a higher generation asks for a retry that no leader has begun.
  return marker !== undefined && marker.generation > state.generation ? "waiting" : state.phase;
}

function wordOf(
  phase: RunPhase,
  state: State | undefined,
  marker: Marker | undefined,
  manifest: Manifest | undefined,
): RunWord {
  if (marker?.want === "delete") return "deleting";
  if (phase === "complete") {
    const gaps = manifest === undefined ? (state?.chunksFailed ?? 0) > 0 : !manifest.complete;
    return gaps ? "complete-with-gaps" : "complete";
  }
  if (phase !== "waiting" && isFinal(phase)) return phase;
  // A leader removes the marker only after the final state.
  if (marker === undefined) return "not-accepted";
  if (marker.want === "cancelled" && !keepsOf(state, marker) && state?.answer !== "too-late")
    return "cancelling";
  return phase;
}

const keepsOf = (state: State | undefined, marker: Marker | undefined): boolean =>
  state?.keep === true ||
  (marker?.want === "cancelled" && marker.keep === "1" && state?.answer !== "too-late");

function progressOf(state: State, phase: RunPhase, nowMs: number): Partial<RunView> {
  const { layout } = state;
  if (layout === undefined) return {};
  const total = packsOf(layout);
  const ended = state.packsDone + state.packsFailed;
  const moving = phase === "computing" && !state.paused && state.rate > 0;
  const remaining = phase === "computing" ? remainingTime(state, nowMs) : undefined;
  return {
    packs: {
      total,
      sent: Math.min(ended + state.inFlight, total),
      done: state.packsDone,
      failed: state.packsFailed,
      again: state.sentAgain,
    },
    chunks: { total: layout.chunks, done: state.chunksDone, failed: state.chunksFailed },
    ...(moving ? { rate: { packsPerS: state.rate, chunksPerS: state.rate * layout.packSize } } : {}),
    ...(remaining === undefined ? {} : { timeLeft: remaining }),
  };
}

function commandOf(state: State | undefined, marker: Marker | undefined): Pick<RunView, "command"> {
  const given = marker?.command ?? state?.command ?? 0;
  if (given === 0) return {};
  return { command: { number: given, want: marker?.want, answer: answerOf(given, state, marker) } };
}

function answerOf(given: number, state: State | undefined, marker: Marker | undefined): CommandAnswer {
  if (state === undefined) return "pending";
  if (state.command >= given) return state.answer ?? "done";
  // Nothing but a deletion or a retry can come of a command to a run that has ended.
  const endless = marker?.want === "delete" || (marker?.generation ?? 0) > state.generation;
  return isFinal(state.phase) && !endless ? "too-late" : "pending";
}

const resultOf = (manifest: Manifest): NonNullable<RunView["result"]> => {
  const { generation, contentType, bytes, sha256, folded, complete, missing, code, mixed } = manifest;
  const shown = { generation, contentType, bytes, sha256, folded, complete, missing, code };
  return mixed === undefined ? shown : { ...shown, mixed };
};

const iso = (ms: number): string => new Date(ms).toISOString();
