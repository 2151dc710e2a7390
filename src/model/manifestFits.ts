import { limits } from "./limits.ts";
import { joined, packsOf, rangesOfShard, shardsOf, sizeOf } from "./packs.ts";
import type { Manifest } from "./run.ts";
import { resultBlobs } from "./runBlobs.ts";
import type { State } from "./state.ts";

/**
 * Whether a manifest tells of the chunks that the leader has counted. Who can put a message into the queue can have a
 * worker fold other members than the leader recorded; the manifest then says so, since a worker counts what it folds.
 *
 * Not promised: anything against who can write blobs. A forged partial has the place of a true one and fits;
 * `verify` computes packs again and finds it.
 */
export function isVouched(state: State, manifest: Manifest, generation = manifest.generation): boolean {
  if (generation > state.generation || state.refused?.includes(generation)) return false;
  // The leader compared before it recorded `complete`; of earlier generations nothing is left to compare with.
  if (generation < state.generation || state.phase === "complete") return true;
  return differenceFrom(state, manifest) === undefined;
}

/** What the manifest of the state's generation says otherwise than the state, in words; undefined where it fits. */
export function differenceFrom(state: State, manifest: Manifest): string | undefined {
  const { layout, run, uid, generation } = state;
  if (layout === undefined) return "the run has no plan";
  const shards = Array.from({ length: shardsOf(layout) }, (_, shard) => shard);
  const open = shards.filter((shard) => state.sealed[shard] === undefined);
  if (open.length > 0) return `${open.length} of ${shards.length} shards are open`;
  const missing = joined(
    shards.flatMap((shard) => rangesOfShard(layout, shard, state.sealed[shard]?.members, "missing")),
  );
  const extension = manifest.blob.slice(manifest.blob.lastIndexOf(".") + 1);
  const counted = {
    ...{ run, uid, generation, chunks: layout.chunks, packs: packsOf(layout) },
    folded: layout.chunks - missing.reduce((sum, range) => sum + sizeOf(range), 0),
    complete: missing.length === 0,
    missing,
    blob: resultBlobs(run, uid).result(generation, manifest.attempt, extension),
  } satisfies Partial<Manifest>;
  for (const [field, mine] of Object.entries(counted)) {
    const theirs = manifest[field as keyof typeof counted];
    if (JSON.stringify(theirs) !== JSON.stringify(mine))
      return `${field} is ${shown(theirs)}, the leader has ${shown(mine)}`;
  }
  const stranger = manifest.terms.find((one) => !hasLed(state, one));
  return stranger === undefined ? undefined : `term ${stranger.term} of ${stranger.holder} did not lead it`;
}

/** The state forgets the oldest terms of a run that changed hands very often. */
const hasLed = ({ terms }: State, { term, holder }: Manifest["terms"][number]): boolean =>
  terms.some((one) => one.term === term && one.holder === holder) || terms.length >= limits.termsKept;

/** What a run fails with whose manifest does not fit. */
export const manifestDiffers = (difference: string): { code: string; message: string } => ({
  code: "manifest-differs",
  message: `the result does not fit what was counted, so somebody forged a message or a blob: ${difference}`,
});

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
