import * as z from "zod";
import { cameBySchema } from "../../../election/record/record.ts";
import { endedPacks } from "../../model/figures.ts";
import { actionSchema, actorSchema } from "../../model/labels.ts";
import { packsOf } from "../../model/packs.ts";
import type { Spec } from "../../model/run.ts";
import { isFinal, type State } from "../../model/state.ts";
import { type Client, defined, iso } from "../client.ts";
import { type LeaderView, leader } from "../leader.ts";
import { readShown } from "../retried.ts";
import { type Read, requireSpec } from "../runDocuments.ts";
import { count, generation, list, runKey, text, time } from "../viewSchemas.ts";

export const timelineSchema = z
  .object({
    ...{ ...runKey, generation, packs: count, submittedAt: time, nowAt: time },
    marks: list(z.object({ at: time, ended: count })).describe(
      "How many packs of this generation had ended; those that the run gave up are no progress.",
    ),
    terms: list(
      z.object({
        term: z.int(),
        holder: text,
        from: time.describe("When it took over the run."),
        to: time
          .describe(
            "When it last wrote its record, or the run ended. Absent while it leads, and if not known.",
          )
          .exactOptional(),
        cameBy: cameBySchema.exactOptional(),
      }),
    ).describe("The terms that led this run, oldest first."),
    submittedBy: actorSchema.exactOptional(),
    commands: list(z.object({ action: actionSchema, at: time, by: actorSchema.exactOptional() })).describe(
      "What people asked of it, as leaders took it up, oldest first: the newest 32.",
    ),
    retriedAt: time.describe("When the newest retry began.").exactOptional(),
    finishedAt: time.exactOptional(),
    pausedSince: time.exactOptional(),
    moved: z
      .literal(true)
      .describe("The run was paused: marks before the pause are moved up to its end.")
      .exactOptional(),
  })
  .describe("Progress of a run over time, and who led it. Times are those of the storage service.")
  .meta({ id: "Timeline" });
export type Timeline = z.infer<typeof timelineSchema>;

/** Two reads and a HEAD, of an ended run two. Throws `InputError` for an unknown run. */
export async function timeline(client: Client, id: string): Promise<Timeline> {
  const spec = await requireSpec(client, id);
  const { run, uid } = spec.value;
  const [state, record] = await Promise.all([readShown(client, { run, uid }), leader(client)]);
  return timelineOf(spec, state, record);
}

/** Pure: the terms of a run are its own; the leader's record tells how they began and ended. */
export function timelineOf(spec: Read<Spec>, read: Read<State> | undefined, record: LeaderView): Timeline {
  const { run, uid, by } = spec.value;
  const state = read?.value;
  const { generation = 1, progress, finishedMs, retriedMs, paused, pausedAtMs, layout } = state ?? {};
  // A retry raises the turn as a pause does, and has marks of its own.
  const wasPaused = pausedAtMs !== undefined && pausedAtMs >= (retriedMs ?? 0);
  const marks = progress?.generation === generation ? progress.marks : [];
  const ended = state === undefined ? 0 : endedOf(state);
  return {
    run,
    uid,
    generation,
    packs: layout === undefined ? 0 : packsOf(layout),
    submittedAt: iso(spec.lastModifiedMs),
    nowAt: iso(Math.max(spec.dateMs, read?.dateMs ?? 0)),
    marks: marks.map((mark) => ({ at: iso(mark.atMs), ended: Math.min(mark.ended, ended) })),
    terms: state === undefined ? [] : termsOf(state, record),
    commands: (state?.history ?? []).map(({ action, by, atMs }) => ({
      action,
      at: iso(atMs),
      ...defined({ by }),
    })),
    ...defined({
      submittedBy: by,
      retriedAt: isoIf(retriedMs),
      finishedAt: isoIf(finishedMs),
      pausedSince: paused && finishedMs === undefined ? isoIf(pausedAtMs) : undefined,
      moved: wasPaused || undefined,
    }),
  };
}

function endedOf({ phase, keep, packsDone: done, packsFailed: failed }: State): number {
  const packs = { total: 0, done, failed };
  return endedPacks({ active: !isFinal(phase), ...defined({ keep }), packs });
}

function termsOf({ terms, finishedMs }: State, record: LeaderView): Timeline["terms"] {
  const remembered = "terms" in record ? record.terms : [];
  return terms.map(({ term, holder, atMs }, index) => {
    const found = remembered.find((one) => one.term === term && one.holder === holder);
    const untilMs = found?.until === undefined ? undefined : Date.parse(found.until);
    const isLast = index === terms.length - 1;
    // The leader goes on with other runs after this one has ended.
    const endMs = isLast && finishedMs !== undefined ? Math.min(finishedMs, untilMs ?? finishedMs) : untilMs;
    const to = endMs === undefined ? undefined : iso(Math.max(endMs, atMs));
    return { term, holder, from: iso(atMs), ...defined({ to, cameBy: found?.cameBy }) };
  });
}

const isoIf = (ms: number | undefined): string | undefined => (ms === undefined ? undefined : iso(ms));
