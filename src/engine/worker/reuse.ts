import { hash } from "node:crypto";
import type { PlannedChunks } from "../calculation/timeChunks.ts";
import { canonicalJson } from "../model/decode.ts";
import { isUnreadable } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import { belongsTo, parseOutputFacts } from "../model/output.ts";
import { type Layout, packsOf, powerFrom } from "../model/packs.ts";
import type { Earlier, Reused, ReusedInterval } from "../model/reuse.ts";
import type { Plan, Spec } from "../model/run.ts";
import { lastNumberOf, runBlobs } from "../model/runBlobs.ts";
import { pagesOf } from "../storage/callSteps.ts";
import { DroppedError, StorageLostError, type WorkerPorts } from "./ports.ts";

/**
 * What a plan reuses of an earlier one: partials of packs with the same inputs, by the same code and parameters,
 * that were seen there. Whatever of the earlier run cannot be read is no error: its packs are computed.
 */
export interface EarlierRun {
  readonly plan: Plan;
  /** A hash of the inputs of each pack; undefined where the plan is only a count. */
  readonly inputs: readonly string[] | undefined;
  /** The earlier plan itself, and those that it reused partials of. */
  readonly sources: readonly Omit<Reused, "packs">[];
  /** Where the partial of a pack stands, if anywhere: the index of the source and the number of the pack there. */
  at(pack: number): readonly [source: number, pack: number] | undefined;
}

/** The earlier run, if its code, parameters and pack size are those of this one. */
export async function openEarlier(
  ports: WorkerPorts,
  { calculation, params, packSize }: Spec,
  { run, uid, origin, plan: sha256 }: Earlier,
): Promise<EarlierRun | undefined> {
  try {
    const spec = await ports.documents.spec({ run, uid });
    const plan = await ports.documents.plan({ run, uid, origin, plan: sha256 });
    const same =
      plan.code === ports.versionOf(calculation) &&
      (plan.spec === undefined || plan.spec === spec.sha256) &&
      spec.calculation === calculation &&
      canonicalJson(spec.params) === canonicalJson(params) &&
      (packSize ?? plan.packSize) === plan.packSize;
    if (!same) return undefined;
    const inputs = plan.segments && (await packInputs(ports, plan));
    return { plan, inputs, ...(await findPartials(ports, plan, sha256)) };
  } catch (error) {
    if (error instanceof DroppedError || error instanceof StorageLostError || isUnreadable(error))
      return undefined;
    throw error;
  }
}

async function packInputs({ documents }: WorkerPorts, plan: Plan): Promise<readonly string[]> {
  const starts = plan.segments?.starts ?? [];
  const inputs = new PackInputs(plan.packSize);
  for (const [index, from] of starts.entries())
    inputs.add((await documents.inputs(plan, from, starts[index + 1] ?? plan.chunks)) ?? []);
  return inputs.end();
}

/** Hashes the inputs of each pack as they come. */
export class PackInputs {
  readonly #size: number;
  readonly #hashes: string[] = [];
  #open: string[] = [];

  constructor(packSize: number) {
    this.#size = packSize;
  }

  add(inputs: readonly unknown[]): void {
    for (const input of inputs) {
      this.#open.push(JSON.stringify(input));
      if (this.#open.length === this.#size) this.#close();
    }
  }

  end(): readonly string[] {
    if (this.#open.length > 0) this.#close();
    return this.#hashes;
  }

  #close(): void {
    this.#hashes.push(hash("sha256", this.#open.join("\n"), "base64"));
    this.#open = [];
  }
}

/** Lists the partials of a plan, and those that it reused itself, so that a chain of runs stays one step deep. */
async function findPartials(
  ports: WorkerPorts,
  { run, uid, origin, shardSize, code, reused = [] }: Plan,
  plan: string,
): Promise<Pick<EarlierRun, "sources" | "at">> {
  const own = { run, uid, ...(origin === undefined ? {} : { origin }), plan, shardSize };
  const there: Set<number>[] = [];
  for (const source of [own, ...reused]) there.push(await listPartials(ports, source, code));
  return {
    sources: [own, ...reused.map(({ packs: _, ...source }) => source)],
    at(pack) {
      if (there[0]?.has(pack)) return [0, pack];
      for (const [index, { packs }] of reused.entries()) {
        const [from, , at] = packs.find(([from, to]) => from <= pack && pack < to) ?? [];
        if (from === undefined || at === undefined) continue;
        return there[index + 1]?.has(at + pack - from) ? [index + 1, at + pack - from] : undefined;
      }
      return undefined;
    },
  };
}

async function listPartials(
  { storage, names }: WorkerPorts,
  { run, uid, origin, plan }: Earlier,
  code: string | undefined,
): Promise<Set<number>> {
  const found = new Set<number>();
  for await (const page of pagesOf(storage.blobs, names.runs, runBlobs(run, uid, origin).parts))
    for (const { name, contentType } of page.blobs) {
      const facts = parseOutputFacts(contentType);
      // What a partial saved is deleted with its run; one with gaps lacks what this run may compute.
      const isWhole = facts.saves !== true && facts.gaps === undefined;
      if (belongsTo({ code, plan }, facts) && isWhole) found.add(lastNumberOf(name));
    }
  return found;
}

const isSpan = ({ packSize }: Layout): boolean => powerFrom(packSize) === packSize;

/**
 * The packs of a new plan with packs of the same size whose partials the earlier run has, as few intervals. `compute` may ask for a chunk's index and
 * for their count, so these must be the same too, unless the calculation says that it does not. A partial of a size that is no
 * power of two may be several spans, and which ones depends on its index (docs/ARCHITECTURE.md, rule 30).
 */
export function matchPacks(
  earlier: EarlierRun,
  { chunks, byInput = false }: PlannedChunks,
  inputs: readonly string[] | undefined,
): readonly Reused[] {
  const { plan, inputs: before } = earlier;
  if ((before === undefined) !== (inputs === undefined)) return [];
  const moves = byInput && isSpan(plan) && inputs !== undefined;
  if (!moves && plan.chunks !== chunks) return [];
  const packs = packsOf({ ...plan, chunks });
  return intervalsOf(earlier, moves ? movedPairs(before ?? [], inputs) : samePairs(before, inputs, packs));
}

type Pair = readonly [pack: number, earlier: number];

function* samePairs(
  before: readonly string[] | undefined,
  now: readonly string[] | undefined,
  packs: number,
): Generator<Pair> {
  for (let pack = 0; pack < packs; pack += 1) if (before?.[pack] === now?.[pack]) yield [pack, pack];
}

/** For each pack the earlier one with the same inputs, rather the one that follows that of the pack before. */
function* movedPairs(before: readonly string[], now: readonly string[]): Generator<Pair> {
  const byInputs = new Map(before.map((inputs, pack) => [inputs, pack]));
  let next = 0;
  for (const [pack, inputs] of now.entries()) {
    const found = before[next] === inputs ? next : byInputs.get(inputs);
    if (found === undefined) continue;
    next = found + 1;
    yield [pack, found];
  }
}

function intervalsOf({ sources, at }: EarlierRun, pairs: Iterable<Pair>): readonly Reused[] {
  const all: { source: number; interval: ReusedInterval }[] = [];
  for (const [pack, before] of pairs) {
    const [source, there] = at(before) ?? [];
    if (source === undefined || there === undefined) continue;
    const last = all.at(-1);
    const [from = 0, to, first = 0] = last?.interval ?? [];
    if (last?.source === source && to === pack && first + pack - from === there) last.interval[1] += 1;
    else all.push({ source, interval: [pack, pack + 1, there] });
  }
  const size = ({ interval: [from, to] }: (typeof all)[number]): number => to - from;
  const longest = all.sort((a, b) => size(b) - size(a)).slice(0, limits.reusedIntervalsMax);
  const bySource = Map.groupBy(longest, ({ source }) => source);
  return [...bySource]
    .map(([source, some]) => ({ source, some, packs: some.reduce((sum, one) => sum + size(one), 0) }))
    .sort((a, b) => b.packs - a.packs)
    .slice(0, limits.reusedRunsMax)
    .map(({ source, some }) => ({
      ...(sources[source] as Omit<Reused, "packs">),
      packs: some.map(({ interval }) => interval).sort(([a], [b]) => a - b),
    }));
}
