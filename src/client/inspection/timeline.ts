import type { LeaderRecord } from "../../election/record/record.ts";
import { packsOf } from "../../model/packs.ts";
import type { Spec } from "../../model/run.ts";
import type { State } from "../../model/state.ts";
import { type Client, defined, iso } from "../client.ts";
import { type LeaderView, leader } from "../leader.ts";
import { type Read, readState, requireSpec } from "../runDocuments.ts";

/** Progress of a run over time, and who led it. Times are those of the storage service. */
export interface Timeline {
  readonly run: string;
  readonly uid: string;
  readonly generation: number;
  readonly packs: number;
  readonly submittedAt: string;
  /** When the newest retry began. */
  readonly retriedAt?: string;
  readonly finishedAt?: string;
  readonly nowAt: string;
  readonly pausedSince?: string;
  /** How many packs of this generation had ended, done or failed. */
  readonly marks: readonly { readonly at: string; readonly ended: number }[];
  /** The run was paused: marks before the pause are moved up to its end. */
  readonly moved?: true;
  /** The terms that led this run, oldest first. */
  readonly terms: readonly RunTerm[];
}

interface RunTerm {
  readonly term: number;
  readonly holder: string;
  /** When the leader of this term took over the run. */
  readonly from: string;
  /** When it last wrote its record, or the run ended. Absent while it leads, and where no record remembers it. */
  readonly to?: string;
  /** How it acquired the lease. */
  readonly cameBy?: LeaderRecord["cameBy"];
}

/** Two reads and a HEAD. Throws `InputError` for an unknown run. */
export async function timeline(client: Client, id: string): Promise<Timeline> {
  const spec = await requireSpec(client, id);
  const { run, uid } = spec.value;
  const [state, record] = await Promise.all([readState(client, run, uid), leader(client)]);
  return timelineOf(spec, state, record);
}

/** Pure: the terms of a run are its own; the leader's record tells how they began and ended. */
export function timelineOf(spec: Read<Spec>, read: Read<State> | undefined, record: LeaderView): Timeline {
  const { run, uid } = spec.value;
  const state = read?.value;
  const nowAt = iso(Math.max(spec.dateMs, read?.dateMs ?? 0));
  const submittedAt = iso(spec.lastModifiedMs);
  const key = { run, uid, generation: state?.generation ?? 1 };
  if (state === undefined) return { ...key, packs: 0, submittedAt, nowAt, marks: [], terms: [] };
  const { progress, finishedMs, retriedMs, paused, pausedAtMs, layout } = state;
  const marks = progress.generation === state.generation ? progress.marks : [];
  return {
    ...key,
    packs: layout === undefined ? 0 : packsOf(layout),
    submittedAt,
    nowAt,
    marks: marks.map(({ atMs, ended }) => ({ at: iso(atMs), ended })),
    terms: termsOf(state, record),
    ...defined({
      retriedAt: isoIf(retriedMs),
      finishedAt: isoIf(finishedMs),
      pausedSince: paused && finishedMs === undefined ? isoIf(pausedAtMs) : undefined,
      moved: state.turn > 0 ? (true as const) : undefined,
    }),
  };
}

function termsOf({ terms, finishedMs }: State, record: LeaderView): readonly RunTerm[] {
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
