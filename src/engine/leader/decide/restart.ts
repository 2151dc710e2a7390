import { encodeBitmap, fullBitmap } from "../../model/bitmap.ts";
import { planLost } from "../../model/errors.ts";
import { withAct } from "../../model/labels.ts";
import type { Marker } from "../../model/marker.ts";
import { indexesOf, type Layout, packsOf, packsOfShard, shardsOf, sizeOf } from "../../model/packs.ts";
import { workName } from "../../model/runBlobs.ts";
import { earlierWith } from "../../model/spent.ts";
import type { State } from "../../model/state.ts";
import { nodesAboveShards } from "./combine.ts";
import { openShards } from "./fanOut.ts";
import { tally } from "./track.ts";

/**
 * What makes the cursor walk over the packs again: a new turn, because workers drop what was sent under an earlier
 * one, and a new generation, which computes what has no partial. Either way a shard is listed anew before anything
 * of it is sent, so that no partial that came meanwhile is computed twice (rule *generations*).
 */

/**
 * The run continues after a pause. Sends of earlier turns do not count any more. An earlier leader may have sent packs beyond
 * the cursor, so their shards are listed as well.
 */
export function beginTurn(state: State): void {
  const { layout, possiblySentUpTo } = state;
  if (layout !== undefined)
    for (
      let shard = 0;
      shard < shardsOf(layout) && packsOfShard(layout, shard).from < possiblySentUpTo;
      shard += 1
    )
      openShards(state, shard);
  const sends = Object.values(state.resent).map((one) => one.send);
  state.cursorSend = Math.max(state.cursorSend, ...sends) + 1;
  const isolated = isolatedAgain(state);
  walkAgain(state);
  state.resent = isolated;
}

/** What ended a process is isolated in the next turn too. */
const isolatedAgain = ({ resent, cursorSend: send }: State): State["resent"] =>
  Object.fromEntries(
    Object.entries(resent)
      .filter(([, { isolated }]) => isolated === true)
      .map(([pack]) => [pack, { send, awaitedFrom: send, sentMs: 0, losses: 0, isolated: true }]),
  );

/**
 * A closed run begins its next generation. A shard that was sealed whole and has its node keeps it; every other one
 * is opened again. So only what was missing is computed, and only the path above it is combined.
 */
export function beginGeneration(
  before: State,
  asked: Pick<Marker, "generation" | "cap"> & Partial<Pick<Marker, "command" | "who">>,
  nowMs: number,
): State {
  const { generation, cap, command = before.command + 1, who } = asked;
  const act = { command, action: "retry" as const, atMs: nowMs, ...(who !== undefined && { by: who }) };
  const closed = { ...unstopped(before), history: withAct(before.history, act) };
  const {
    finishedMs: _finished,
    error: _error,
    answer: _answer,
    keep: _keep,
    gaveUp: _gaveUp,
    trying: _trying,
    waits: _waits,
    behind: _behind,
    otherCode: _otherCode,
    maxCostAtMs: _maxCostAt,
    ...rest
  } = closed;
  const state: State = {
    ...rest,
    generation,
    cap,
    retriedMs: nowMs,
    paused: false,
    cursorSend: 1,
    phase: closed.layout === undefined ? "planning" : "computing",
    tasks: {},
    resent: {},
    open: {},
    sealed: {},
    groups: {},
    resends: 0,
    durationsMs: [],
    packsComputed: 0,
    computeMs: 0,
    taskMsMax: {},
    rate: 0,
    led: { planning: 0, computing: 0, finishing: 0, polls: 0 },
    wasted: { attempts: 0, ms: 0 },
    earlier: earlierWith(before),
  };
  if (closed.layout === undefined) return state;
  // A forged message may have left a node that lacks some of its members. Where one is gone, others may be.
  const forged = closed.refused?.includes(closed.generation) === true;
  const trusted = !forged && !["storage-lost", planLost].includes(closed.error?.code ?? "");
  for (const [name, sealed] of Object.entries(closed.sealed)) {
    const { members, gaps } = sealed;
    if (trusted && sealed.node && members === undefined && gaps === undefined) state.sealed[name] = sealed;
    else {
      const all = fullBitmap(sizeOf(packsOfShard(closed.layout, Number(name))));
      state.open[name] = { done: members ?? encodeBitmap(all), ...(gaps && { gaps }) };
    }
  }
  for (const [name, { done, gaps }] of Object.entries(closed.open))
    state.open[name] = { done, ...(gaps && { gaps }) };
  keepGroups(closed, state, closed.layout);
  walkAgain(state);
  tally(state);
  return state;
}

/** With all chunks that the plan has: gaps that a retry fills may change what the calculation says of any prefix. */
function unstopped({ stopped, ...closed }: State): State {
  if (stopped === undefined || closed.layout === undefined) return closed;
  return { ...closed, layout: { ...closed.layout, chunks: stopped.of, stops: true } };
}

function walkAgain(state: State): void {
  const { layout } = state;
  if (layout === undefined) return;
  const shards = Object.keys(state.open).map(Number);
  const first = Math.min(...shards.map((shard) => packsOfShard(layout, shard).from));
  state.cursor = Math.min(state.cursor, first, packsOf(layout));
  state.batches = [];
  state.taken = [];
  state.possiblySentUpTo = 0;
  state.resent = {};
  for (const open of Object.values(state.open)) open.recount = true;
}

/** A node above the shards is kept while everything below it is. */
function keepGroups(closed: State, state: State, layout: Layout): void {
  for (const { level, name, children } of nodesAboveShards(layout)) {
    const group = closed.groups[name];
    if (group?.node !== true) continue;
    const isKept = (child: number): boolean =>
      level === 2
        ? child in state.sealed
        : workName({ kind: "node", level: level - 1, index: child }) in state.groups;
    if (indexesOf(children).every(isKept)) state.groups[name] = group;
  }
}
