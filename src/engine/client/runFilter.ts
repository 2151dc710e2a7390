import { typedMs } from "../model/figures.ts";
import { hasTags, parseTags, type Tags, tagRule } from "../model/labels.ts";
import type { Client } from "./client.ts";
import { invalid } from "./runRequest.ts";

/** Which runs a list shows. Of what is asked for here, all is in a marker's name, in a summary, or in what a list reads anyway. */

export interface RunsQuery {
  /** Ended runs of this page at most; `clientLimits.runsListed` by default. */
  readonly limit?: number | undefined;
  /** Of the page before. */
  readonly cursor?: string | undefined;
  readonly phase?: string | undefined;
  readonly calculation?: string | undefined;
  /** Tags that it has, as one types them: `team=risk`. */
  readonly tag?: readonly string[] | undefined;
  /** Submitted since: `yesterday`, a time, `2026-11-23` or with more of ISO 8601, or so long ago, `30d`. */
  readonly since?: string | undefined;
  /** Of its id. */
  readonly prefix?: string | undefined;
}

/** What a list shows of a run; one that does not decode has nothing but its id. */
interface Listed {
  readonly run: string;
  readonly calculation?: string;
  readonly tags?: Tags;
  readonly submittedAt?: string;
}

/** Whether a run is asked for. Throws `InputError` naming the field. */
export function filterOf({ clock }: Client, { calculation, tag, since, prefix = "" }: RunsQuery) {
  const tags = tag === undefined ? {} : parseTags(tag);
  if (tags === undefined) throw invalid("tag", `give key=value, each key once; ${tagRule}`);
  const sinceMs = since === undefined ? 0 : sinceOf(since, clock.wallMs());
  const wanted = (run: Listed): boolean =>
    run.run.startsWith(prefix) &&
    (calculation === undefined || run.calculation === calculation) &&
    hasTags(run.tags, tags) &&
    // Of one that does not decode nobody knows when it was submitted.
    (since === undefined || Date.parse(run.submittedAt ?? "") >= sinceMs);
  return { wanted, sinceMs, prefix };
}

/** Yesterday is this time yesterday: whoever asks in the morning means one night. */
export function sinceOf(text: string, nowMs: number): number {
  const agoMs = typedMs(text === "yesterday" ? "1d" : text);
  // Anything else that `Date` takes, such as `1`, would be a time by luck; a time without a zone is UTC, as a day is.
  const [, day, time = "T00:00", zone = "Z"] =
    /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(Z|[+-]\d\d:\d\d)?$/.exec(text) ?? [];
  const at = Date.parse(`${day}${time}${zone}`);
  const ms = agoMs === undefined ? at : nowMs - agoMs;
  if (Number.isFinite(ms)) return Math.max(0, ms);
  throw invalid(
    "since",
    `${text} is no time: give yesterday, a date such as 2026-11-23, with a time or without, or 30d or 12h`,
  );
}
