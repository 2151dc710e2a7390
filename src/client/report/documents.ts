import { billingClasses, calls, dollarsOf } from "../../model/calls.ts";
import {
  bytes,
  count,
  countOf,
  deadlineEnd,
  dollars,
  lostOf,
  lostWord,
  timeText,
} from "../../model/figures.ts";
import { type Range, rangeText } from "../../model/packs.ts";
import type { Manifest } from "../../model/run.ts";
import { cut, dim, facts, type Html, html, jsonText, section, table } from "./html.ts";
import { previewHtml, type ReportFacts } from "./preview.ts";

/** The sections with texts of the run: failures, cost, result, request and manifest. */

const messageCharactersMax = 600;
const groupsMax = 50;
const rangesMax = 8;
const jsonCharactersMax = 16_000;

/** `0–99, 200–222`, of many ranges the first few. */
function rangesText(ranges: readonly Range[]): string {
  const more = ranges.length - rangesMax;
  const shown = ranges.slice(0, rangesMax).map(rangeText).join(", ");
  return more > 0 ? `${shown} and ${count(more)} more` : shown;
}

export function failureSection({ view, failures: { groups, trying, more } }: ReportFacts): Html {
  if (groups.length === 0 && trying.length === 0) {
    const lost = view.packs === undefined ? 0 : lostOf(view.packs);
    return section("Failures", dim(lost === 0 ? "Nothing failed." : withoutRecord(view, lost)));
  }
  const rows = groups
    .slice(0, groupsMax)
    .map(({ code, sample, packs, chunks, tasks, attempts }) => [
      html`<code>${code}</code>`,
      html`<div class="long">${cut(sample, messageCharactersMax)}</div>`,
      packs.length === 0 ? tasks.join(", ") : count(packs.length),
      rangesText(chunks),
      count(attempts),
    ]);
  const columns = [
    "Code",
    "Error, the first of its kind",
    { right: "Packs" },
    "Chunks",
    { right: "Attempts" },
  ];
  return section(
    "Failures",
    groups.length > 0 && table(columns, rows),
    groups.length > groupsMax && dim(`${countOf(groups.length - groupsMax, "more kind")} of errors.`),
    more &&
      html`<p class="dim">There are more failures than these; <code>leasefold failures --max</code> lists them.</p>`,
    trying.length > 0 &&
      dim(
        `${countOf(trying.length, "piece")} of work failed and ${trying.length === 1 ? "is" : "are"} tried again.`,
      ),
  );
}

function withoutRecord(view: ReportFacts["view"], lost: number): string {
  const packs = countOf(lost, "pack");
  if (lostWord(view) === "failed") return `${packs} failed; no record says why.`;
  const [verb, them] = lost === 1 ? ["is", "it"] : ["are", "them"];
  return `${packs} ${verb} missing: the run ${view.active ? "ends" : "ended"} without ${them}.`;
}

export function costSection({ view }: ReportFacts): Html {
  const rows = billingClasses
    .filter((one) => view.calls[one] > 0)
    .map((one) => [one, count(view.calls[one]), dollars(dollarsOf(calls({ [one]: view.calls[one] })))]);
  return section(
    "Cost of storage",
    table(
      ["Calls", { right: "Number" }, { right: "List price" }],
      [...rows, [html`<b>all</b>`, "", html`<b>${dollars(view.dollars)}</b>`]],
    ),
    dim(
      "An estimate at list prices, as counted by leaders and workers; without compute, and without the host’s own polls.",
    ),
  );
}

export function resultSection({ view, manifest, preview }: ReportFacts): Html {
  if (manifest === undefined || preview === undefined) {
    const why = view.active ? "The run has no result yet." : "The run has no result.";
    return section("Result", dim(why));
  }
  const { contentType, bytes: size, sha256, folded, chunks, missing, mixed, notes } = manifest;
  return section(
    "Result",
    previewHtml(preview),
    facts([
      ["Generation", view.generation > 1 ? manifest.generation : undefined],
      ["Type", contentType],
      ["Size", bytes(size)],
      ["SHA-256", html`<code>${sha256}</code>`],
      ["Chunks in it", `${count(folded)} of ${count(chunks)}`],
      ["Missing chunks", missing.length === 0 ? undefined : rangesText(missing)],
      ["Notes", notes?.join("; ")],
      ["Code", mixed ? "partials of several versions, as a retry asked for" : undefined],
    ]),
  );
}

export function requestSection({ view }: ReportFacts): Html {
  const { params, code, cap, deadline, packs, chunks, command } = view;
  return section(
    "Request",
    facts([
      ["Calculation", view.calculation],
      ["Parameters", html`<pre>${cut(jsonText(params), jsonCharactersMax)}</pre>`],
      ["Code", code && html`<code>${code}</code>`],
      ["Layout", packs && chunks && `${countOf(chunks.total, "chunk")} in ${countOf(packs.total, "pack")}`],
      ["Packs in flight at most", cap === undefined ? undefined : count(cap)],
      ["Deadline", deadline && `${timeText(deadline.at)}, then ${deadlineEnd(view)}`],
      ["Last command", command?.want && `${command.want}: ${command.answer}`],
      ["Run", `${view.run} (${view.uid})`],
    ]),
  );
}

export const manifestSection = (manifest: Manifest): Html =>
  section("Manifest", html`<pre>${cut(jsonText(manifest), jsonCharactersMax)}</pre>`);
