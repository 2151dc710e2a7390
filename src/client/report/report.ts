import { hash } from "node:crypto";
import {
  bytes,
  count,
  countOf,
  dollars,
  duration,
  endedPacks,
  lostOf,
  lostText,
  olderText,
  percent,
  sentence,
  stateText,
  timeText,
} from "../../model/figures.ts";
import { refusedText } from "../../model/identity.ts";
import type { Client } from "../client.ts";
import type { RunView, RunWord } from "../runView.ts";
import { costSection, failureSection, manifestSection, requestSection, resultSection } from "./documents.ts";
import { Html, html, type Value } from "./html.ts";
import { durationSection, mapSection, timelineSection } from "./inspections.ts";
import { type ReportFacts, reportFacts } from "./preview.ts";
import { style } from "./style.ts";

/**
 * A run as one HTML file that needs no script, no network and no style sheet. Throws `InputError` for an unknown run.
 *
 * Not promised: that its parts are of the same moment while the run is still open.
 */
export const report = async (client: Client, id: string): Promise<string> =>
  reportPage(await reportFacts(client, id));

/** Pure: the whole page. Nothing in it runs or is fetched, whatever the run's texts are. */
function reportPage(facts: ReportFacts): string {
  const { view, manifest } = facts;
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${hash("sha256", style, "base64")}'`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${view.run} – Leasefold</title>
<style>${new Html(style)}</style>
</head>
<body>
<main>
${header(facts)}
${timelineSection(facts)}
${mapSection(facts)}
${durationSection(facts)}
${failureSection(facts)}
${costSection(facts)}
${resultSection(facts)}
${requestSection(facts)}
${manifest && manifestSection(manifest)}
<footer>Leasefold · run ${view.run} (${view.uid}), generation ${view.generation} · as of ${timeText(facts.timeline.nowAt)}</footer>
</main>
</body>
</html>
`.text;
}

const shape = '<path d="M3 1 13 7 3 13z" fill="currentColor"/>';
const [running, stopping] = [["run", shape] as const, ["warn", shape] as const];
/** Tone and shape of a state; its word is beside them. */
const looks: Readonly<Record<RunWord, readonly [tone: string, shape: string]>> = {
  complete: ["ok", '<circle cx="7" cy="7" r="6" fill="currentColor"/>'],
  "complete-with-gaps": [
    "warn",
    '<circle cx="7" cy="7" r="5" fill="none" stroke="currentColor" stroke-width="2"/>',
  ],
  failed: ["bad", '<path d="M7 1 13 13H1z" fill="currentColor"/>'],
  cancelled: ["dim", '<rect x="2" y="2" width="10" height="10" fill="currentColor"/>'],
  ...{ waiting: running, planning: running, computing: running, finishing: running },
  ...{ cancelling: stopping, deleting: stopping, "not-accepted": stopping },
};

function header({ view, timeline, manifest }: ReportFacts): Html {
  const { packs, chunks, finishedAt } = view;
  const [tone, shape] = looks[view.word];
  const icon = new Html(`<svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">${shape}</svg>`);
  const older = olderText(view);
  const when = finishedAt === undefined ? "has not ended" : `ended ${timeText(finishedAt)}`;
  const figures: readonly (Figure | undefined)[] = [
    ["Time", duration(view.elapsedS)],
    chunks && ["Chunks", ...share(view, chunks)],
    packs && ["Packs", ...share(view, packs)],
    ["Leaders", count(timeline.terms.length)],
    ["Storage calls", dollars(view.dollars)],
    manifest && [
      older === undefined ? "Result" : `Result of generation ${manifest.generation}`,
      bytes(manifest.bytes),
    ],
  ];
  return html`<header>
<div class="dim">Leasefold report · ${view.calculation}</div>
<h1>${view.run}</h1>
<div><span class="state ${tone}">${icon}${stateText(view)}</span> <span class="dim">· submitted ${timeText(view.submittedAt)} · ${when}${view.generation > 1 ? ` · generation ${view.generation}` : ""}</span></div>
${notes(view, manifest)}
<dl class="figures">${figures.map(
    (figure) =>
      figure &&
      html`<div><dt>${figure[0]}</dt><dd>${figure[1]}</dd>${figure[2] && html`<dd class="dim">${figure[2]}</dd>`}</div>`,
  )}</dl>
</header>`;
}

type Figure = readonly [name: string, value: string, more?: string];

/** `1,000`, or `98 %` with `980 of 1,000, 3 failed`. */
function share(view: RunView, of: NonNullable<RunView["chunks"]>): readonly [string, string?] {
  const { done, total } = of;
  if (done === total) return [count(total)];
  const lost = lostOf(of) > 0 ? `, ${lostText(view, of)}` : "";
  return [percent(endedPacks({ ...view, packs: of }), total), `${count(done)} of ${count(total)}${lost}`];
}

/** What a reader must know before the figures: an error, gaps, and that a run still changes. */
function notes(view: RunView, manifest: ReportFacts["manifest"]): readonly Value[] {
  const { error, active, otherCode, word } = view;
  const note = (tone: string, content: string): Html => html`<p class="note ${tone}">${content}</p>
`;
  const { chunks = 0, folded = 0 } = manifest ?? {};
  const older = olderText(view);
  const open = "This run has not ended. The report shows it as it was when the report was made.";
  const gaps = `The result lacks ${count(chunks - folded)} of ${countOf(chunks, "chunk")}; the manifest says which.`;
  return [
    active && note("warn", open),
    word === "not-accepted" && note("warn", "Its submit broke off; submit it again with the same id."),
    otherCode && note("warn", `Waiting: ${refusedText(otherCode)}.`),
    error && note("bad", `${error.code}: ${error.message}`),
    older && note("warn", sentence(older)),
    folded < chunks && note("warn", gaps),
  ];
}
