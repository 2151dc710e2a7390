import type { RecordedCall } from "./recorder.ts";
import type { Milestone } from "./story.ts";

const [width, left, laneHeight, top, lineHeight] = [960, 80, 34, 30, 17];

/** What a call is for, by its service, and how it is drawn. */
const classes = [
  { name: "lease and its record", color: "#8a5cd6", fits: (path: string) => path.includes("/leader") },
  { name: "queue", color: "#d98324", fits: (path: string) => path.includes("/messages") },
  { name: "blob", color: "#2f7fd1", fits: () => true },
] as const;

const escaped = (text: string): string => text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);

/** An SVG of one run: a lane for each actor with its calls, the milestones below. Polls that found nothing are left out. */
export function drawTrace(
  calls: readonly RecordedCall[],
  story: readonly Milestone[],
  startMs: number,
): string {
  const endMs = story.at(-1)?.atMs ?? 1;
  const x = (ms: number): number => left + (ms / endMs) * (width - left - 20);
  const actors = [...new Set(calls.map(({ actor }) => actor))].sort();
  const lanesEnd = top + actors.length * laneHeight;
  const shown = calls
    .map((call) => ({ ...call, at: call.fromMs - startMs, until: call.toMs - startMs }))
    .filter(({ at, until }) => until >= 0 && at <= endMs)
    .filter(
      ({ path, method, answer }) =>
        !(method === "GET" && path.includes("/messages") && !answer.includes("<QueueMessage>")),
    );
  const bars = shown.map(({ actor, path, method, at, until }) => {
    const color = classes.find(({ fits }) => fits(path))?.color;
    const y = top + actors.indexOf(actor) * laneHeight + 8;
    const wide = Math.max(1.5, x(until) - x(at)).toFixed(1);
    const title = escaped(`${method} ${path.split("?")[0]}: ${(until - at).toFixed(0)} ms`);
    return `<rect x="${x(at).toFixed(1)}" y="${y}" width="${wide}" height="18" fill="${color}" fill-opacity="0.75"><title>${title}</title></rect>`;
  });
  const lanes = actors.map(
    (actor, lane) =>
      `<text x="8" y="${top + lane * laneHeight + 21}">${actor}</text><line x1="${left}" x2="${width - 20}" y1="${top + (lane + 1) * laneHeight}" y2="${top + (lane + 1) * laneHeight}" stroke="#8886"/>`,
  );
  const marks = story.map(({ atMs }, index) => {
    const at = x(atMs).toFixed(1);
    return `<line x1="${at}" x2="${at}" y1="${top}" y2="${lanesEnd}" stroke="#888" stroke-dasharray="2 3"/><text x="${at}" y="${top - 6 - (index % 2) * 10}" text-anchor="middle" font-size="10">${index + 1}</text>`;
  });
  const rows = story.map(({ name, atMs, mostly }, index) => {
    const tookMs = atMs - (story[index - 1]?.atMs ?? 0);
    const y = lanesEnd + 24 + index * lineHeight;
    const waits = mostly === "poll" ? "waits for a poll" : "";
    return `<text x="8" y="${y}">${index + 1}</text><text x="34" y="${y}">${escaped(name)}</text><text x="330" y="${y}" text-anchor="end">${atMs.toFixed(0)} ms</text><text x="410" y="${y}" text-anchor="end">+${tookMs.toFixed(0)}</text><text x="430" y="${y}">${waits}</text>`;
  });
  const legend = classes.map(
    ({ name, color }, index) =>
      `<rect x="640" y="${lanesEnd + 14 + index * lineHeight}" width="12" height="12" fill="${color}"/><text x="660" y="${lanesEnd + 24 + index * lineHeight}">${name}</text>`,
  );
  const height = lanesEnd + 34 + story.length * lineHeight;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="ui-sans-serif, system-ui, sans-serif" font-size="12" fill="#556">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    ...[...lanes, ...bars, ...marks, ...rows, ...legend],
    "</svg>\n",
  ].join("\n");
}
