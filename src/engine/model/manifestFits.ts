import { clearBit, countBits, encodeBitmap, fullBitmap } from "./bitmap.ts";
import { accepts } from "./identity.ts";
import { limits } from "./limits.ts";
import {
  chunksOfPack,
  indexesOf,
  joined,
  type Layout,
  packsIn,
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
  const { missing, folded } = countedOf(state, layout, manifest);
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
  const lost = layout.chunks - folded;
  if (chunksIn(missing) !== lost) return `missing is ${chunksIn(missing)} chunks, the leader has ${lost}`;
  for (const document of ["spec", "plan"] as const) {
    const [theirs, mine] = [manifest[document], state[document]];
    // A worker of an earlier version names neither. Whoever can take a name out of a manifest can forge all of it.
    if (theirs !== undefined && mine !== undefined && theirs !== mine)
      return `it comes from another ${document}`;
  }
  const other = manifest.code.find((one) => !accepts(state, one));
  if (other !== undefined) return `it was computed by ${clip(other)} too`;
  const unknown = manifest.terms.find((one) => !hasLed(state, one));
  return unknown === undefined ? undefined : `term ${unknown.term} of ${unknown.holder} did not lead it`;
}

/**
 * What the leader counted. Of a gapped pack that is only how many chunks it lacks, so which ones is taken from the manifest; then
 * `missing` and `folded` make up the run only if it has as many.
 */
function countedOf(
  { sealed }: State,
  layout: Layout,
  manifest: Manifest,
): Pick<Manifest, "missing" | "folded"> {
  const shards = indexesOf({ from: 0, to: shardsOf(layout) });
  const gapped = shards.flatMap((shard) => packsIn(layout, shard, sealed[shard]?.gapped));
  const told = membersFrom(layout, gapped, manifest.missing);
  const missing = joined(
    shards.flatMap((shard) => rangesOfShard(layout, shard, sealed[shard]?.members, "missing", told.members)),
  );
  const lacking = shards.reduce((sum, shard) => sum + (sealed[shard]?.lacking ?? 0), 0);
  return { missing, folded: layout.chunks - chunksIn(missing) + told.lacking - lacking };
}

/** Bitmaps of the chunks that gapped packs have by a manifest's gaps, both ascending, and how many chunks they lack together. */
function membersFrom(
  layout: Layout,
  gapped: readonly number[],
  gaps: readonly Range[],
): { readonly members: ReadonlyMap<number, string>; readonly lacking: number } {
  const members = new Map<number, string>();
  let lacking = 0;
  let at = 0;
  for (const pack of gapped) {
    const { from, to } = chunksOfPack(layout, pack);
    const bits = fullBitmap(to - from);
    while ((gaps[at]?.to ?? to) <= from) at += 1;
    // The last of them may reach into the next pack.
    for (let next = at; (gaps[next]?.from ?? to) < to; next += 1) {
      const gap = gaps[next] as Range;
      for (let chunk = Math.max(gap.from, from); chunk < Math.min(gap.to, to); chunk += 1)
        clearBit(bits, chunk - from);
    }
    lacking += to - from - countBits(bits);
    members.set(pack, encodeBitmap(bits));
  }
  return { members, lacking };
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
