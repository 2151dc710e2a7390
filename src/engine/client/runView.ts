import * as z from "zod";
import { costSchema } from "../model/cost.ts";
import { actorSchema, tagsSchema } from "../model/labels.ts";
import type { Marker, Want } from "../model/marker.ts";
import { givenUpOf, stopOf, stopSchema } from "../model/outcomes.ts";
import { packsOf } from "../model/packs.ts";
import { priorities } from "../model/priority.ts";
import { type Manifest, manifestSchema, type Spec } from "../model/run.ts";
import { type Spent, spentInGeneration, spentOf } from "../model/spent.ts";
import { deadlineMs, isFinal, isHeld, phases, type State, stateSchema } from "../model/state.ts";
import { defined, iso } from "./client.ts";
import { answerOf, commandOf, commandSchema } from "./commands/commandAnswer.ts";
import { counts, countsSchema, splitLost } from "./counts.ts";
import { remainingTime, remainingTimeSchema, standsStill } from "./estimate/remainingTime.ts";
import { asksRetry } from "./retried.ts";
import type { Read } from "./runDocuments.ts";
import { calls, count, errorSchema, generation, list, runKey, seconds, text, time } from "./viewSchemas.ts";

const stated = z.enum(["waiting", ...phases]);
type RunPhase = z.infer<typeof stated>;
const wordSchema = z
  .enum(["waiting", ...phases, "complete-with-gaps", "cancelling", "deleting", "not-accepted"])
  .describe(
    "The phase for people. `not-accepted`: its submit did not complete; submitting it again with the same id completes it.",
  );
type RunWord = z.infer<typeof wordSchema>;

// biome-ignore format: a list of names
const resultSchema = manifestSchema.pick({
  generation: true, contentType: true, bytes: true, sha256: true, folded: true, complete: true,
  missing: true, stopped: true, code: true, mixed: true, notes: true,
});

/** A run as people and programs see it. */
export const runViewSchema = z
  .object({
    ...runKey,
    calculation: text,
    code: text.describe("Identity of the code that computes or computed it.").exactOptional(),
    otherCode: z
      .object({ needed: text, theirs: list(text) })
      .describe("The run waits, because the instances have other code.")
      .exactOptional(),
    params: z.unknown(),
    phase: stated.describe("`waiting`: accepted, but no leader has seen it yet."),
    word: wordSchema,
    active: z.boolean().describe("False once the phase is final."),
    paused: z.boolean(),
    pauseReason: z
      .literal("max-cost")
      .describe("`paused` because nothing more fits into its max cost; absent where a person paused it.")
      .exactOptional(),
    keep: z
      .boolean()
      .describe("The run finishes with what is done: by a cancel that keeps it, or past its deadline."),
    generation,
    cap: z.int().positive().describe("Packs in flight at most.").optional(),
    maxCost: z.number().describe("Dollars at most: then it sends nothing more.").exactOptional(),
    packs: z
      .object({ ...counts, sent: count, resent: count })
      .describe(
        "Absent until planned. `sent` counts packs that are done, failed or in flight, or were in flight when the run ended early; `resent` counts their resends.",
      )
      .exactOptional(),
    chunks: countsSchema.exactOptional(),
    stop: stopSchema.exactOptional(),
    rate: z.object({ packsPerS: z.number(), chunksPerS: z.number() }).exactOptional(),
    submittedAt: time,
    submittedBy: actorSchema
      .describe("`entra:`, `azure:` or `user:` and a name, or `key`. Absent where the submit told nobody.")
      .exactOptional(),
    priority: z.enum(priorities).describe("Absent where it is normal.").exactOptional(),
    tags: tagsSchema.exactOptional(),
    finishedAt: time.exactOptional(),
    deadline: z
      .object({ at: time, keep: z.boolean() })
      .describe("After it the run fails, or with `keep` finishes with what is done.")
      .exactOptional(),
    waits: stateSchema.shape.waits
      .unwrap()
      .omit({ untilMs: true, lastMs: true })
      .extend({ until: time })
      .describe(
        "Work that waits to be attempted again: how much, when the first of it is, and why that failed.",
      )
      .exactOptional(),
    trying: stateSchema.shape.trying
      .unwrap()
      .describe("The latest failed attempt at work that is still tried.")
      .exactOptional(),
    elapsedS: seconds.describe(
      "From the submit to the end, and of each retry likewise: the time that a run lay failed is none of its work.",
    ),
    generations: list(z.object({ generation, elapsedS: seconds, calls, ...costSchema.shape }))
      .describe(
        "What each generation took and cost, oldest first: time, calls and cost of the run are their sums. Absent where there is one; the first entry of very many is of several.",
      )
      .exactOptional(),
    timeLeft: remainingTimeSchema.exactOptional(),
    behind: text
      .describe("The run that has the workers, while this one waits for some and nothing of it ends.")
      .exactOptional(),
    terms: list(z.object({ term: z.int(), holder: text, since: time })).describe(
      "The leaders of this run, oldest first.",
    ),
    command: commandSchema.exactOptional(),
    calls: calls.describe(
      "By the same formula as of a plan, from what was measured up to the last write of the state.",
    ),
    ...costSchema.shape,
    error: errorSchema.exactOptional(),
    result: resultSchema.exactOptional(),
  })
  .meta({ id: "Run" });
export type RunView = z.infer<typeof runViewSchema>;

interface RunFacts {
  readonly spec: Read<Spec>;
  readonly state: Read<State> | undefined;
  readonly marker: Read<Marker> | undefined;
  readonly manifest: Manifest | undefined;
}

/** Pure: the view of a run from its documents. */
export function viewOf({ spec, state: stateRead, marker: markerRead, manifest }: RunFacts): RunView {
  const { run, uid, calculation, params, deadline, code, priority, tags, by } = spec.value;
  // A marker of another uid belongs to an older run of this id that is being deleted.
  const marker = markerRead?.value.uid === uid ? markerRead.value : undefined;
  const state = stateRead?.value;
  const phase = phaseOf(state, marker);
  const active = phase === "waiting" || !isFinal(phase);
  const submittedMs = spec.lastModifiedMs;
  const nowMs = Math.max(spec.dateMs, stateRead?.dateMs ?? 0, markerRead?.dateMs ?? 0);
  const askedMs = asksRetry(state, marker) ? markerRead?.lastModifiedMs : undefined;
  const generations = generationsOf(state, { submittedMs, askedMs, nowMs });
  const finishedMs = active ? undefined : state?.finishedMs;
  const refused = active && phase !== "waiting" ? state?.otherCode : undefined;
  const spent = spentOf(state);
  const keep = active && keepsOf(phase === "waiting" ? undefined : state, marker);
  const paused = active && !keep && isPaused(state, marker);
  const atMaxCost =
    phase === "computing" && !keep && !paused && marker?.want === "run" && state?.maxCostAtMs !== undefined;
  return {
    run,
    uid,
    calculation,
    params,
    phase,
    word: wordOf(phase, state, marker, manifest),
    active,
    // A deadline ends a pause and leaves the marker as it is.
    paused: paused || atMaxCost,
    keep,
    generation: Math.max(state?.generation ?? 1, marker?.generation ?? 1),
    cap: marker?.cap ?? state?.cap,
    ...(state === undefined ? {} : progressOf(state, phase, nowMs)),
    submittedAt: iso(submittedMs),
    elapsedS: generations.reduce((sum, one) => sum + one.elapsedS, 0),
    terms: (state?.terms ?? []).map(({ term, holder, atMs }) => ({ term, holder, since: iso(atMs) })),
    calls: spent.calls,
    ...spent.cost,
    ...defined({
      submittedBy: by,
      tags,
      priority: priority === "normal" ? undefined : priority,
      pauseReason: atMaxCost ? ("max-cost" as const) : undefined,
      maxCost: marker?.dollars ?? state?.maxCost,
      generations: generations.length > 1 ? generations : undefined,
      // A planned run of an older version has no identity of its code.
      code: state?.layout === undefined ? (state?.code ?? code) : state.code,
      otherCode: refused && { needed: refused.needed, theirs: refused.theirs },
      finishedAt: finishedMs === undefined ? undefined : iso(finishedMs),
      deadline: deadline && {
        at: iso(deadlineMs(deadline, state ?? { createdMs: submittedMs })),
        keep: deadline.keep,
      },
      waits: active && phase !== "waiting" ? waitsOf(state) : undefined,
      behind: phase === "planning" || phase === "computing" ? state?.behind : undefined,
      trying: active && phase !== "waiting" ? state?.trying : undefined,
      command: commandOf(state, marker),
      error: phase === "waiting" ? undefined : state?.error,
      result: manifest && resultOf(manifest),
    }),
  };
}

/** One at least, also of a run that no leader has seen. `askedMs`: since when a retry is asked for that none has begun. */
function generationsOf(
  state: State | undefined,
  {
    submittedMs,
    askedMs,
    nowMs,
  }: Readonly<Record<"submittedMs" | "nowMs", number>> & { readonly askedMs: number | undefined },
): NonNullable<RunView["generations"]> {
  const one = (number: number, tookMs: number, { calls, cost }: Spent) => ({
    ...{ generation: number, elapsedS: Math.max(0, tookMs) / 1_000, calls },
    ...cost,
  });
  const nothing = spentOf(undefined);
  if (state === undefined) return [one(1, nowMs - submittedMs, nothing)];
  const { generation: number, earlier = [], retriedMs = submittedMs, finishedMs = nowMs } = state;
  return [
    ...earlier.map((before) => one(before.generation, before.tookMs, before)),
    one(number, finishedMs - retriedMs, spentInGeneration(state)),
    ...(askedMs === undefined ? [] : [one(number + 1, nowMs - askedMs, nothing)]),
  ];
}

function waitsOf(state: State | undefined): RunView["waits"] {
  if (state?.waits === undefined) return undefined;
  const { works, untilMs, work, code, message } = state.waits;
  return { works, until: iso(untilMs), work, code, message };
}

function phaseOf(state: State | undefined, marker: Marker | undefined): RunPhase {
  return state === undefined || asksRetry(state, marker) ? "waiting" : state.phase;
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
  if (isGiven("cancelled", state, marker) && marker.keep === undefined) return "cancelling";
  return phase;
}

/** Whether the marker wants this, and the leader has not answered that it is too late for it. */
const isGiven = (want: Want, state: State | undefined, marker: Marker | undefined): boolean =>
  marker?.want === want && answerOf(marker.command, state, marker) !== "too-late";

const isPaused = (state: State | undefined, marker: Marker | undefined): boolean =>
  isGiven("paused", state, marker) || (marker === undefined && state?.paused === true);

/** A plain cancel and a deletion end a run that was to finish with what is done, too. */
const keepsOf = (state: State | undefined, marker: Marker | undefined): boolean =>
  isGiven("cancelled", state, marker)
    ? marker?.keep === "1"
    : marker?.want !== "delete" && state?.keep === true;

function progressOf(state: State, phase: RunPhase, nowMs: number): Partial<RunView> {
  const { layout, packsDone, packsFailed, rate } = state;
  if (layout === undefined) return {};
  const computing = phase === "computing";
  const total = packsOf(layout);
  const givenUp = givenUpOf(state);
  const sent = Math.min(packsDone + packsFailed + state.inFlight, total) - givenUp.unsent;
  const lost = splitLost(packsFailed, givenUp.packs);
  return {
    packs: { total, sent, done: packsDone, ...lost, resent: state.resends },
    chunks: {
      total: layout.chunks,
      done: state.chunksDone,
      ...splitLost(state.chunksFailed, givenUp.chunks),
    },
    ...defined({
      rate:
        computing && !isHeld(state) && state.otherCode === undefined && rate > 0 && !standsStill(state, nowMs)
          ? { packsPerS: rate, chunksPerS: rate * layout.packSize }
          : undefined,
      timeLeft: computing ? remainingTime(state, nowMs) : undefined,
      stop: stopOf(state),
    }),
  };
}

function resultOf(manifest: Manifest): NonNullable<RunView["result"]> {
  const { generation, contentType, bytes, sha256, folded, complete, missing, code, ...more } = manifest;
  const found = { generation, contentType, bytes, sha256, folded, complete, missing, code };
  return { ...found, ...defined({ stopped: more.stopped, mixed: more.mixed, notes: more.notes }) };
}
