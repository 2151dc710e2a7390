import pMap from "p-map";
import * as z from "zod";
import { parseOutputFacts } from "../../model/output.ts";
import { chunksOfPack, type Layout, packsOf, shardsOf } from "../../model/packs.ts";
import { quantile } from "../../model/quantile.ts";
import { rangeSchema } from "../../model/run.ts";
import { lastNumberOf, runBlobs } from "../../model/runBlobs.ts";
import type { State } from "../../model/state.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import { type Client, clientLimits, defined } from "../client.ts";
import { blobPage, blobPages } from "../containersAndQueues.ts";
import { readShown } from "../retried.ts";
import { requireSpec } from "../runDocuments.ts";
import { count, generation, list, runKey } from "../viewSchemas.ts";

const ms = z.number();
const slowPackSchema = z.object({ pack: count, chunks: rangeSchema, ms, attempt: count.exactOptional() });
type SlowPack = z.infer<typeof slowPackSchema>;

export const durationsSchema = z
  .object({
    ...runKey,
    generation,
    packs: count,
    counted: count.describe("Packs whose duration is known here."),
    cut: z
      .boolean()
      .describe(
        "Not every finished pack is counted: of a large run a sample, of a complete one the last that ended.",
      ),
    p50Ms: ms.exactOptional(),
    p75Ms: ms.exactOptional(),
    p95Ms: ms.exactOptional(),
    maxMs: ms.exactOptional(),
    histogram: list(z.object({ fromMs: ms, toMs: ms, packs: count })),
    slowest: list(slowPackSchema).describe(
      "Longest first. Empty where only the last durations are known, which name no packs.",
    ),
  })
  .meta({ id: "Durations" });
export type Durations = z.infer<typeof durationsSchema>;

/**
 * Lists the partials of a run, whose content types tell their durations: at most `durationPagesMax` pages, spread evenly
 * over a larger run. Partials of a complete run are cleaned up; then the durations that the leader kept count. Throws
 * `InputError` for an unknown run.
 */
export async function durations(client: Client, id: string): Promise<Durations> {
  const { run, uid } = (await requireSpec(client, id)).value;
  const state = (await readShown(client, { run, uid }))?.value;
  const layout = state?.layout;
  const { durationsMs, packsDone } = state && layout ? state : { durationsMs: [], packsDone: 0 };
  const listed = state && layout ? await listPartials(client, state, layout) : [];
  const timed = listed.length >= durationsMs.length;
  const sorted = (timed ? listed.map(({ ms }) => ms) : [...durationsMs]).sort((a, b) => a - b);
  return {
    run,
    uid,
    generation: state?.generation ?? 1,
    packs: layout === undefined ? 0 : packsOf(layout),
    counted: sorted.length,
    cut: sorted.length < packsDone,
    ...defined({
      p50Ms: quantile(sorted, 0.5),
      p75Ms: quantile(sorted, 0.75),
      p95Ms: quantile(sorted, 0.95),
      maxMs: sorted.at(-1),
    }),
    histogram: histogramOf(sorted),
    slowest: timed ? slowestOf(listed) : [],
  };
}

async function listPartials(client: Client, { run, uid }: State, layout: Layout) {
  const blobs = runBlobs(run, uid);
  const packs = packsOf(layout);
  const slowPacks = (listed: readonly ListedBlob[]): SlowPack[] =>
    listed.flatMap(({ name, contentType }) => {
      const pack = lastNumberOf(name);
      if (!(pack < packs)) return [];
      const { ms, attempt } = parseOutputFacts(contentType);
      return [
        { pack, chunks: chunksOfPack(layout, pack), ms, ...defined({ attempt: attempt || undefined }) },
      ];
    });

  const { durationPagesMax } = clientLimits;
  const found: SlowPack[] = [];
  let listed = 0;
  if (packs <= durationPagesMax * pagePacks) {
    for await (const page of blobPages(client, client.names.runs, blobs.parts)) {
      found.push(...slowPacks(page.blobs));
      listed += 1;
      if (listed === durationPagesMax) break;
    }
    return found;
  }
  // Ten neighboring shards are at most one page.
  const tens = Math.ceil(shardsOf(layout) / 10);
  const sampled = Array.from({ length: Math.min(tens, durationPagesMax) }, (_, i) =>
    Math.floor((i * tens) / Math.min(tens, durationPagesMax)),
  );
  const read = (ten: number) => blobPage(client, client.names.runs, blobs.partsNear(ten * 10, 1));
  const pages = await pMap(sampled, read, { concurrency: 4 });
  return pages.flatMap(({ blobs: listed }) => slowPacks(listed));
}

/** Names on one page of a list (`limits.listPageMax`). */
const pagePacks = 5_000;

const slowestShown = 10;
const slowestOf = (listed: readonly SlowPack[]): readonly SlowPack[] =>
  [...listed].sort((a, b) => b.ms - a.ms || a.pack - b.pack).slice(0, slowestShown);

const barsMax = 24;

/** Counts in bars of equal, round width; empty bars within are kept. */
export function histogramOf(sorted: readonly number[]) {
  const [least, most] = [sorted[0], sorted.at(-1)];
  if (least === undefined || most === undefined) return [];
  const width = roundWidth((most - least) / (barsMax - 1));
  const first = Math.floor(least / width);
  const bars = Array.from({ length: Math.floor(most / width) - first + 1 }, (_, i) => ({
    fromMs: (first + i) * width,
    toMs: (first + i + 1) * width,
    packs: 0,
  }));
  for (const ms of sorted) {
    const bar = bars[Math.floor(ms / width) - first];
    if (bar !== undefined) bar.packs += 1;
  }
  return bars;
}

/** The next of 1, 2, 5, 10, 20, 50 … ms; durations are whole ms. */
function roundWidth(least: number): number {
  for (let power = 1; ; power *= 10) {
    const found = [1, 2, 5].map((digit) => digit * power).find((width) => width >= least);
    if (found !== undefined) return found;
  }
}
