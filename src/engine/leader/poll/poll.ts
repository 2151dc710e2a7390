import { closedParamsMax } from "../../model/closedRun.ts";
import { unlessCorrupt } from "../../model/decode.ts";
import { indexesOf, shardsOf } from "../../model/packs.ts";
import { type Manifest, manifestSchema, planSchema, specSchema } from "../../model/run.ts";
import { lastNumberOf, resultBlobs, runBlobs, specBlob } from "../../model/runBlobs.ts";
import type { State } from "../../model/state.ts";
import { checkRequestHash } from "../../model/storedSpec.ts";
import { readDocument } from "../../storage/callSteps.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import type { DecideTime, Known } from "../notes.ts";
import type { NodeGroup, NodeName, PollCalls, Seen, SeenNode, SeenOutput, ShardGroup } from "../seen.ts";
import { type PageBudget, type Submitted, type Term, type TermRun, takePages } from "../term.ts";
import { inTurn, listFailures, type Poll, toldBy } from "./listFailures.ts";

type PolledTerm = Pick<Term, "storage" | "names" | "leader">;
type PolledRun = { readonly term: PolledTerm } & Pick<TermRun, "spec" | "marker"> &
  Pick<Known, "working" | "lists">;

/**
 * Polls a run: makes the given calls, as far as the loop's list pages reach. The leader reads plans, manifests and
 * lists, never a partial's bytes, so its cost does not grow with what workers compute. `pagesMax`: list pages for this
 * run's partials.
 */
export async function poll(
  { term, spec, working: state, marker, lists }: PolledRun,
  calls: PollCalls,
  { localMs, nowMs }: Pick<DecideTime, "localMs" | "nowMs">,
  { pages, pagesMax }: { readonly pages: PageBudget; readonly pagesMax: number },
): Promise<Seen> {
  const { storage, names, leader } = term;
  const at = runBlobs(state.run, state.uid);
  const one: Poll = { at, pages, list: listWithin(term, pages) };
  const { nodes: heads, nodeGroups } = calls;
  // Failures and nodes first: open shards want every page there is, and wait for both.
  const failuresNow = calls.failures && takePages(pages, 1) === 1;
  const nodesNow = pages.left >= nodeGroups.length;
  if (nodesNow) takePages(pages, nodeGroups.length);
  // Where there are more groups than pages, they take turns from one poll to the next.
  const count = takePages(pages, Math.min(calls.groups.length, pagesMax));
  const { turn: groups, next: shardsFrom } = inTurn(calls.groups, lists.shardsFrom, count);

  const [plan, manifest, parts, headed, listed, failures] = await Promise.all([
    calls.plan
      ? readDocument(storage.blobs, [names.runs, at.plan], planSchema, { signal: leader.lost })
      : undefined,
    calls.manifest ? readManifest(term, state) : undefined,
    Promise.all(
      groups.map(({ shard, digits }) => one.list(at.partsNear(shard, digits), { metadata: false })),
    ),
    headNodes(term, at, heads, state),
    nodesNow ? listNodes(one, nodeGroups, state) : [],
    failuresNow ? listFailures(one, lists, groups) : undefined,
  ]);

  const { otherCode, ...told } = toldBy(failures?.blobs ?? []);
  const nodesPolled = heads.length > 0 || (nodesNow && nodeGroups.length > 0);
  return {
    spec,
    marker,
    parts: parts.flatMap(({ blobs }) => blobs).flatMap(seenOutput),
    shards: new Set(groups.flatMap((group) => shardsIn(group, state))),
    nodes: [...headed, ...listed],
    ...told,
    otherCode: failures && otherCode,
    unlisted: calls.groups.length > 0 && groups.length === 0,
    plan: plan?.value,
    planHash: plan?.sha256,
    planMs: plan?.lastModifiedMs,
    manifest,
    lists: {
      ...lists,
      shardsFrom,
      ...(nodesPolled ? { nodesMs: localMs, nodesAtMs: nowMs } : {}),
      ...(failures ? { ...failures.turn, failuresMs: localMs, failuresAtMs: nowMs } : {}),
    },
  };
}

const listWithin =
  ({ storage, names, leader }: PolledTerm, pages: PageBudget): Poll["list"] =>
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
async function readManifest(
  { storage, names, leader }: PolledTerm,
  { run, uid, generation }: State,
): Promise<Manifest | undefined> {
  const at = [names.results, resultBlobs(run, uid).manifest(generation)] as const;
  return (await readDocument(storage.blobs, at, manifestSchema, { signal: leader.lost }))?.value;
}

/** The manifest, or none where it is missing or does not decode: then there is no result that anyone could read. */
export const manifestOrNone = (term: PolledTerm, state: State): Promise<Manifest | undefined> =>
  unlessCorrupt(() => readManifest(term, state));

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

async function headNodes(
  { storage, names, leader }: PolledTerm,
  at: Poll["at"],
  nodes: readonly NodeName[],
  { generation }: State,
): Promise<SeenNode[]> {
  const found = await Promise.all(
    nodes.map(async ({ level, index }) => {
      const name = at.node(generation, level, index);
      const node = await storage.blobs.head(names.runs, name, { signal: leader.lost });
      return node.kind === "missing" ? [] : [{ level, index, contentType: node.properties.contentType }];
    }),
  );
  return found.flat();
}

async function listNodes(
  { at, list }: Poll,
  groups: readonly NodeGroup[],
  { generation }: State,
): Promise<SeenNode[]> {
  const listed = await Promise.all(
    groups.map(async ({ level, shard, digits }) => {
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
