import { closedParamsMax } from "../../model/closedRun.ts";
import { CorruptDataError } from "../../model/errors.ts";
import { indexesOf, shardsOf } from "../../model/packs.ts";
import { type Manifest, manifestSchema, planSchema, specSchema } from "../../model/run.ts";
import { lastNumberOf, resultBlobs, runBlobs, specBlob } from "../../model/runBlobs.ts";
import type { State } from "../../model/state.ts";
import { checkRequestHash } from "../../model/storedSpec.ts";
import { readDocument } from "../../storage/callSteps.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import type { DecideTime } from "../decide/draft.ts";
import { type PageBudget, type Submitted, type Term, type TermRun, takePages } from "../term.ts";
import { inTurn, listFailures, toldBy } from "./listFailures.ts";
import {
  groupsOf,
  type Poll,
  type Seen,
  type SeenNode,
  type SeenOutput,
  type ShardGroup,
  wantedOf,
} from "./seen.ts";

type PolledRun = Pick<Poll, "term"> & Pick<TermRun, "spec" | "working" | "marker" | "notes">;

/**
 * Polls a run: makes the calls that `wantedOf` finds worth making. The leader reads plans, manifests and lists, never a
 * partial's bytes, so its cost does not grow with what workers compute. `pagesMax`: list pages for this run's partials.
 */
export async function poll(
  { term, spec, working: state, marker, notes }: PolledRun,
  time: DecideTime,
  { pages, pagesMax }: { readonly pages: PageBudget; readonly pagesMax: number },
): Promise<Seen> {
  const { storage, names, leader } = term;
  const at = runBlobs(state.run, state.uid, state.origin);
  const one: Poll = { term, state, notes, at, pages, list: listWithin(term, pages) };
  const wanted = wantedOf(state, notes, time);
  // Failures and nodes first: open shards want every page there is, and wait for both.
  const failuresNow = wanted.failures && takePages(pages, 1) === 1;
  const nodesNow = nodePages(wanted.nodes, pages);
  if (nodesNow && wanted.nodes.length > 0) {
    notes.nodesMs = time.localMs;
    notes.nodesAtMs = time.nowMs;
  }
  // Where there are more groups than pages, they take turns from one poll to the next.
  const count = takePages(pages, Math.min(wanted.groups.length, pagesMax));
  const { turn: groups, next } = inTurn(wanted.groups, notes.shardsFrom, count);
  notes.shardsFrom = next;

  const [plan, manifest, parts, nodes, failures] = await Promise.all([
    wanted.plan
      ? readDocument(storage.blobs, [names.runs, at.plan], planSchema, { signal: leader.lost })
      : undefined,
    wanted.manifest ? readManifest(term, state) : undefined,
    Promise.all(
      groups.map(({ shard, digits }) => one.list(at.partsNear(shard, digits), { metadata: false })),
    ),
    nodesNow ? pollNodes(one, wanted.nodes) : [],
    failuresNow ? listFailures(one, groups) : [],
  ]);
  if (failuresNow) {
    notes.failuresMs = time.localMs;
    notes.failuresAtMs = time.nowMs;
  }

  const { otherCode, ...told } = toldBy(failures);
  return {
    spec,
    marker,
    parts: parts.flatMap(({ blobs }) => blobs).flatMap(seenOutput),
    shards: new Set(groups.flatMap((group) => shardsIn(group, state))),
    nodes,
    ...told,
    otherCode: failuresNow ? otherCode : undefined,
    unlisted: wanted.groups.length > 0 && groups.length === 0,
    plan: plan?.value,
    planHash: plan?.sha256,
    planMs: plan?.lastModifiedMs,
    manifest,
  };
}

const listWithin =
  ({ storage, names, leader }: Poll["term"], pages: PageBudget): Poll["list"] =>
  async (prefix, { metadata, firstPage }) => {
    const all: ListedBlob[] = [];
    let cursor: string | undefined;
    do {
      // The first page was taken out of the budget by whoever asked. Names of a shard fill more only in odd cases.
      if (cursor !== undefined) pages.left -= 1;
      const page = await storage.blobs.list(names.runs, prefix, { metadata, cursor, signal: leader.lost });
      all.push(...page.blobs);
      cursor = page.cursor;
    } while (cursor !== undefined && firstPage !== true);
    return { blobs: all, more: cursor !== undefined };
  };

/** The manifest of the state's generation, if it is there. */
export async function readManifest(
  { storage, names, leader }: Poll["term"],
  { run, uid, generation }: State,
): Promise<Manifest | undefined> {
  const at = [names.results, resultBlobs(run, uid).manifest(generation)] as const;
  return (await readDocument(storage.blobs, at, manifestSchema, { signal: leader.lost }))?.value;
}

export async function readSpec({ storage, names, leader }: Term, id: string): Promise<Submitted | undefined> {
  const at = [names.runs, specBlob(id)] as const;
  const found = await readDocument(storage.blobs, at, specSchema, { signal: leader.lost });
  if (found === undefined) return undefined;
  checkRequestHash(found.value);
  // A leader holds the specs of all its runs. No decision asks for parameters, and a summary only for short ones.
  const { given: _, params, ...spec } = found.value;
  const short = JSON.stringify(params ?? null).length <= closedParamsMax ? params : undefined;
  return { spec: { ...spec, params: short }, sha256: found.sha256, submittedMs: found.lastModifiedMs };
}

/** What a read gives, or undefined where its bytes do not decode. */
export async function unlessCorrupt<T>(read: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof CorruptDataError) return undefined;
    throw error;
  }
}

/** A list costs as much as a dozen heads, and a long run has hundreds of nodes on it. */
const headsAtMost = 4;

type Nodes = readonly { readonly level: number; readonly index: number }[];

/** Neighbors joined into few list calls, for each level. */
function nodeGroups(asked: Nodes): readonly (ShardGroup & { readonly level: number })[] {
  const levels = [...new Set(asked.map(({ level }) => level))];
  return levels.flatMap((level) => {
    const indexes = asked.filter((node) => node.level === level).map(({ index }) => index);
    return groupsOf(indexes, 1).map((group) => ({ ...group, level }));
  });
}

/** Takes the pages that the nodes need; false where there are too few of them in this loop. */
function nodePages(asked: Nodes, budget: PageBudget): boolean {
  if (asked.length <= headsAtMost) return true;
  const pages = nodeGroups(asked).length;
  return budget.left >= pages && takePages(budget, pages) === pages;
}

async function pollNodes({ term, state: { generation }, at, list }: Poll, asked: Nodes): Promise<SeenNode[]> {
  const { storage, names, leader } = term;
  if (asked.length <= headsAtMost) {
    const found = await Promise.all(
      asked.map(async ({ level, index }) => {
        const name = at.node(generation, level, index);
        const node = await storage.blobs.head(names.runs, name, { signal: leader.lost });
        if (node.kind === "missing") return [];
        return [{ level, index, contentType: node.properties.contentType }];
      }),
    );
    return found.flat();
  }
  const listed = await Promise.all(
    nodeGroups(asked).map(async ({ level, shard, digits }) => {
      const { blobs } = await list(at.nodesNear(generation, level, shard, digits), { metadata: false });
      return blobs.flatMap(seenOutput).map((node) => ({ level, ...node }));
    }),
  );
  return listed.flat();
}

function shardsIn({ shard, digits }: ShardGroup, { layout }: State): number[] {
  const to = layout === undefined ? 0 : Math.min(shard + 10 ** digits, shardsOf(layout));
  return indexesOf({ from: shard, to });
}

function seenOutput(blob: ListedBlob): SeenOutput[] {
  const index = lastNumberOf(blob.name);
  return Number.isSafeInteger(index) ? [{ index, contentType: blob.contentType }] : [];
}
