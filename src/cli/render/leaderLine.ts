import type { LeaderView } from "../../client/leader.ts";
import { duration } from "./amounts.ts";
import { oneLine } from "./plainText.ts";

type Known = Extract<LeaderView, { readonly term: number }>;

const came: Readonly<Record<NonNullable<Known["cameBy"]>, string>> = {
  free: "the lease was free",
  "handed-over": "was handed the lease",
  expired: "took over after the lease ran out",
  broken: "took over by breaking the lease",
};

/** Who leads, on one line: the holder first, what it is doing last. */
export function leaderLine(seen: LeaderView, nowMs: number): string {
  switch (seen.kind) {
    case "never":
      return "nobody has ever led here";
    case "unreadable":
      return `the leader's record cannot be read: ${oneLine(seen.reason)}`;
    case "nobody":
      return [
        `nobody leads; the last was ${nameOf(seen)} in term ${seen.term}`,
        ...(seen.beatAgeS === undefined ? [] : [`${duration(seen.beatAgeS)} ago`]),
      ].join(", ");
    case "leading": {
      const forS = (nowMs - Date.parse(seen.since)) / 1000;
      const parts = [
        `${nameOf(seen)} leads in term ${seen.term} since ${seen.since.slice(11, 19)} UTC (${duration(forS)})`,
        ...(seen.beatAgeS === undefined ? [] : [`last beat ${duration(seen.beatAgeS)} ago`]),
        ...(seen.leaseLeftS === undefined ? [] : [`lease for ${duration(Math.floor(seen.leaseLeftS))} more`]),
        ...(seen.cameBy === undefined ? [] : [came[seen.cameBy]]),
      ];
      const notes = Object.entries(seen.notes).map(([name, value]) => `${oneLine(name)} ${oneLine(value)}`);
      return notes.length === 0 ? parts.join(", ") : `${parts.join(", ")}; ${notes.join(", ")}`;
    }
  }
}

const nameOf = ({ holder, region }: Known): string =>
  region === undefined ? oneLine(holder) : `${oneLine(holder)} (${oneLine(region)})`;
