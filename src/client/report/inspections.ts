import { count, countOf, duration, milliseconds, timeText } from "../../model/figures.ts";
import { rangeText } from "../../model/packs.ts";
import type { PackMap } from "../inspection/packMap.ts";
import type { Timeline } from "../inspection/timeline.ts";
import { durationChart, mapChart, mapKey, timelineChart } from "./charts.ts";
import { cut, dim, facts, type Html, html, section, table } from "./html.ts";
import type { ReportFacts } from "./preview.ts";

/** The sections with charts, each with its table. */

export function timelineSection({ timeline }: ReportFacts): Html {
  const title = "Progress and leaders";
  if (timeline.terms.length === 0) return section(title, dim("No leader has seen this run yet."));
  const moved =
    "The run was paused: progress before a pause is drawn later than it was, up to the end of the pause.";
  const since = timeline.retriedAt === undefined ? "submit" : "retry";
  const shaded = `Packs that ended, over the time since the ${since}; below, who led. Shaded times had no leader.`;
  return section(
    title,
    timelineChart(timeline),
    dim(shaded),
    timeline.moved && dim(moved),
    termTable(timeline),
  );
}

const acquiredBy = {
  free: "nobody held the lease",
  "handed-over": "release by the leader before",
  expired: "expiry of the lease",
  broken: "break of the lease",
} as const;

/** The names of hosts are shorter. */
const holderCharactersMax = 64;

function termTable({ terms, finishedAt }: Timeline): Html {
  const endOf = (isLast: boolean): string =>
    isLast && finishedAt === undefined ? "still leads" : "not known";
  return table(
    [{ right: "Term" }, "Leader", "From", "To", { right: "Without leader before" }, "Acquired by"],
    terms.map(({ term, holder, from, to, cameBy }, index) => {
      const before = terms[index - 1]?.to;
      const gapS = before === undefined ? undefined : (Date.parse(from) - Date.parse(before)) / 1_000;
      return [
        term,
        cut(holder, holderCharactersMax),
        html`<span class="t">${timeText(from)}</span>`,
        html`<span class="t">${to === undefined ? endOf(index === terms.length - 1) : timeText(to)}</span>`,
        gapS === undefined ? "" : duration(Math.max(0, gapS)),
        cameBy === undefined ? "" : acquiredBy[cameBy],
      ];
    }),
  );
}

export function mapSection({ map }: ReportFacts): Html {
  const title = "Packs";
  if (map.packs === 0)
    return section(title, dim("The run has no packs: it is not planned, or its plan has no chunks."));
  const each = map.packsPerCell === 1 ? "a pack" : `${count(map.packsPerCell)} neighboring packs`;
  return section(
    title,
    mapChart(map),
    mapKey,
    dim(`Each square is ${each}; it shows the state that matters most.`),
    mapTable(map),
  );
}

/** Rows of neighboring packs in the table of a map. */
const mapRows = 10;

/** The numbers of the map; columns of zeros only are left out. */
function mapTable({ packs, packsPerCell, cells }: PackMap): Html {
  const perRow = Math.ceil(cells.done.length / mapRows);
  const rows = Array.from({ length: Math.ceil(cells.done.length / perRow) }, (_, row) => {
    const sum = (of: readonly number[]): number =>
      of.slice(row * perRow, (row + 1) * perRow).reduce((all, one) => all + one, 0);
    const from = row * perRow * packsPerCell;
    const to = Math.min((row + 1) * perRow * packsPerCell, packs);
    const { done, failed, givenUp, inFlight, resent } = cells;
    const notSent = [done, failed, givenUp, inFlight].reduce((left, of) => left - sum(of), to - from);
    const counts = [...[done, failed, givenUp, inFlight, resent].map(sum), notSent];
    return { range: rangeText({ from, to }), counts };
  });
  const titles = ["Done", "Failed", "Given up", "In flight", "Resent", "Not sent"];
  const shown = titles.flatMap((title, at) =>
    at === 0 || rows.some(({ counts }) => (counts[at] ?? 0) > 0) ? [{ title, at }] : [],
  );
  return table(
    ["Packs", ...shown.map(({ title }) => ({ right: title }))],
    rows.map(({ range, counts }) => [range, ...shown.map(({ at }) => count(counts[at] ?? 0))]),
  );
}

/** The longest pack takes more than this many times what three of four packs take. */
const skewed = 1.5;

export function durationSection({ durations }: ReportFacts): Html {
  const title = "Durations of packs";
  const { counted, packs, p50Ms = 0, p75Ms = 0, p95Ms = 0, maxMs = 0, slowest } = durations;
  if (counted === 0)
    return section(title, dim("No pack has ended, or their durations are not kept any more."));
  const of = durations.cut
    ? `${count(counted)} of ${countOf(packs, "pack")}`
    : `${counted === 1 ? "" : "all "}${countOf(counted, "pack")} that ended`;
  const isSkewed = maxMs > skewed * p75Ms && maxMs > 1_000;
  return section(
    title,
    durationChart(durations),
    facts([
      ["Median", milliseconds(p50Ms)],
      ["75 % within", milliseconds(p75Ms)],
      ["95 % within", milliseconds(p95Ms)],
      ["Longest", milliseconds(maxMs)],
      ["Counted", of],
    ]),
    isSkewed &&
      html`<p class="note">The longest pack took ${Number((maxMs / Math.max(p75Ms, 1)).toFixed(1))} times as long as three of four packs. Smaller packs would spread such work better.</p>`,
    slowest.length > 0 &&
      table(
        [{ right: "Slowest pack" }, "Chunks", { right: "Time" }, { right: "Attempt" }],
        slowest.map(({ pack, chunks, ms, attempt }) => [
          count(pack),
          rangeText(chunks),
          milliseconds(ms),
          attempt,
        ]),
      ),
  );
}
