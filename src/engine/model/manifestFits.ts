import { accepts } from "./identity.ts";
import { limits } from "./limits.ts";
import {
  indexesOf,
  joined,
  type Layout,
  packsOf,
  type Range,
  rangesOfShard,
  shardsOf,
  sizeOf,
} from "./packs.ts";
import type { Manifest } from "./run.ts";
import { resultBlobs } from "./runBlobs.ts";
import type { State } from "./state.ts";

/**
 * Whether a manifest agrees with the chunks that the leader counted. A forged message can make a worker fold other members
 * than the leader recorded; the manifest shows it, since a worker counts what it folds.
 *
 * Not promised: protection against someone who can write blobs. A forged partial in place of a true one is not noticed
 * here; `verify` recomputes packs and finds it.
 */
export function isVouched(state: State, manifest: Manifest, generation = manifest.generation): boolean {
  if (generation > state.generation || state.refused?.includes(generation)) return false;
  // The leader compared before it recorded `complete`. Nothing remains to compare for earlier generations.
  if (generation < state.generation || state.phase === "complete") return true;
  return differenceFrom(state, manifest) === undefined;
}

/** How the manifest of the state's generation differs from the state, in words; undefined if it agrees. */
export function differenceFrom(state: State, manifest: Manifest): string | undefined {
  const { layout, run, uid, generation } = state;
  if (layout === undefined) return "the run has no plan";
  const shards = indexesOf({ from: 0, to: shardsOf(layout) });
  const open = shards.filter((shard) => state.sealed[shard] === undefined);
  if (open.length > 0) return `${open.length} of ${shards.length} shards are open`;
  const missing = gapsBy(state, layout, manifest.missing);
  if (typeof missing === "string") return missing;
  const folded = layout.chunks - chunksIn(missing);
  const extension = manifest.blob.slice(manifest.blob.lastIndexOf(".") + 1);
  const counted = {
    run,
    uid,
    generation,
    chunks: layout.chunks,
    packs: packsOf(layout),
    folded,
    complete: folded === layout.chunks,
    missing,
    stopped: state.stopped,
    blob: resultBlobs(run, uid).result(generation, manifest.attempt, extension),
  } satisfies Partial<Manifest>;
  for (const [field, mine] of Object.entries(counted)) {
    const theirs = shown(manifest[field as keyof typeof counted]);
    if (theirs !== shown(mine)) return `${field} is ${clip(theirs)}, the leader has ${clip(shown(mine))}`;
  }
  for (const document of ["spec", "plan"] as const) {
    const [theirs, mine] = [manifest[document], state[document]];
    if (mine !== undefined && theirs !== mine) return `it comes from another ${document}`;
  }
  const other = manifest.code.find((one) => !accepts(state, one));
  if (other !== undefined) return `it was computed by ${clip(other)} too`;
  const unknown = manifest.terms.find((one) => !hasLed(state, one));
  return unknown === undefined ? undefined : `term ${unknown.term} of ${unknown.holder} did not lead it`;
}

/**
 * The gaps that the leader counted. Of packs whose partials have some it knows only how many, by shard, so which chunks these are
 * is taken from the manifest. Says what differs where that tells of more or fewer.
 */
function gapsBy({ sealed }: State, layout: Layout, told: readonly Range[]): Range[] | string {
  const all: Range[] = [];
  // Both ascend.
  let at = 0;
  for (const shard of indexesOf({ from: 0, to: shardsOf(layout) })) {
    const { members, gaps = 0 } = sealed[shard] ?? {};
    let there = 0;
    for (const { from, to } of rangesOfShard(layout, shard, members, "folded")) {
      while ((told[at]?.to ?? to) <= from) at += 1;
      // The last of them may reach into the next pack.
      for (let next = at; (told[next]?.from ?? to) < to; next += 1) {
        const gap = told[next] as Range;
        all.push({ from: Math.max(gap.from, from), to: Math.min(gap.to, to) });
        there += sizeOf(all.at(-1) as Range);
      }
    }
    if (there !== gaps)
      return `missing is ${there} chunks in packs of shard ${shard}, the leader has ${gaps}`;
    all.push(...rangesOfShard(layout, shard, members, "missing"));
  }
  return joined(all.sort((a, b) => a.from - b.from));
}

const chunksIn = (ranges: readonly Range[]): number => ranges.reduce((sum, range) => sum + sizeOf(range), 0);

/** A full list of terms has lost the oldest ones, so any term may have led. So may any before an earlier state was lost. */
const hasLed = ({ terms, lost }: State, { term, holder }: Manifest["terms"][number]): boolean =>
  terms.some((one) => one.term === term && one.holder === holder) ||
  terms.length >= limits.termsKept ||
  (lost === true && term < (terms[0]?.term ?? 0));

/** The error of a run whose manifest differs. */
export const manifestDiffers = (difference: string): { code: string; message: string } => ({
  code: "manifest-differs",
  message: `the result does not fit what was counted, so somebody forged a message or a blob: ${difference}`,
});

const shown = (value: unknown): string => JSON.stringify(value) ?? "none";
const clip = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);
