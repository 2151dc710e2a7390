import { limits } from "../model/limits.ts";
import { decodeMarker, encodeMarker, type Marker } from "../model/marker.ts";
import { isFinal } from "../model/state.ts";
import type { ListedBlob } from "../storage/ports.ts";
import { decide, decideMore } from "./decide/decide.ts";
import { unsentTasks } from "./decide/draft.ts";
import { hasComeToRest } from "./decide/rest.ts";
import type { Share } from "./decide/window.ts";
import { beginDeletion, deleteRun } from "./deletion/deleteRun.ts";
import { look } from "./look/look.ts";
import { type OpenRun, openRun } from "./look/openRun.ts";
import type { PageBudget } from "./look/pageBudget.ts";
import { close, type ListedMarker } from "./perform/close.ts";
import { type CoordinatorPorts, perform } from "./perform/perform.ts";
import type { Ownership } from "./perform/stateChain.ts";
import { judge, type TroubledRuns } from "./perform/trouble.ts";

/** What a leader has at hand for one loop. */
export interface Loop {
  readonly runs: Map<string, OpenRun>;
  readonly nowMs: number;
  readonly newer: { gaveWay: boolean };
  readonly troubled: TroubledRuns;
  readonly budget: PageBudget;
  /** Pages for the partials of one run, so that a large one leaves some to those beside it. */
  pagesEach: number;
  readonly shareOf: (id: string) => Share;
  /** Runs for which no page was left in this loop; they come first in the next. */
  readonly unlisted: Set<string>;
  /** Set where something is left to do at once. */
  hurry: boolean;
}

/** Takes one run a look further. Its trouble stays its own; only what ends the term is thrown on. */
export async function advance(
  ports: CoordinatorPorts,
  leader: Ownership,
  loop: Loop,
  blob: ListedBlob,
): Promise<void> {
  const { runs, nowMs, newer, troubled } = loop;
  const listed = { id: blob.name, etag: blob.etag };
  try {
    const marker = decodeMarker(blob.metadata, blob.name);
    if (marker.want === "delete") return await executeDelete(ports, leader, loop, marker, listed);
    const run = await runOf(ports, leader, runs, marker, listed, nowMs);
    if (run === "over") return;
    if (run === "to-delete") return await goOnDeleting(ports, leader, loop, marker.uid, listed);
    await lookAndDecide(ports, leader, loop, run, marker, listed);
    // A look that had nothing to write says nothing of the writes that failed before.
    if (!run.memory.dirty) troubled.over(blob);
  } catch (error) {
    await judge(ports, leader, runs, { listed, blob, nowMs, newer, troubled }, error);
  }
}

/** The run as this term holds it; taken over first where it does not yet, or where it begins anew. */
async function runOf(
  ports: CoordinatorPorts,
  leader: Ownership,
  runs: Map<string, OpenRun>,
  marker: Marker,
  listed: ListedMarker,
  nowMs: number,
): Promise<OpenRun | "over" | "to-delete"> {
  const known = runs.get(listed.id);
  if (known?.spec.uid === marker.uid && !isFinal(known.chain.state().phase)) return known;
  runs.delete(listed.id);
  const opened = await openRun(ports, leader, marker, listed, nowMs);
  if (typeof opened !== "string") runs.set(listed.id, opened);
  return opened;
}

async function lookAndDecide(
  ports: CoordinatorPorts,
  leader: Ownership,
  loop: Loop,
  run: OpenRun,
  marker: Marker,
  listed: ListedMarker,
): Promise<void> {
  const { nowMs, budget } = loop;
  const { spec, memory, working } = run;
  const share = loop.shareOf(listed.id);
  const limitMs = Math.min(ports.packLimitMs, spec.packLimitMs ?? ports.packLimitMs);
  const time = { nowMs, localMs: ports.clock.monotonicMs(), limitMs };
  const subject = { spec, state: working, marker, time, pagesMax: loop.pagesEach };
  // They are put before the next write, and so share its room.
  const owed = unsentTasks(run.chain.state(), memory).length;
  const seen = await look(ports.storage, ports.names, subject, memory, budget, leader.lost);
  if (seen.unlisted) loop.unlisted.add(listed.id);
  const draft = decide(working, seen, memory, time, share, owed);
  if (draft.ending !== undefined) {
    const { state, ending } = draft;
    await close(ports, leader, run, ending, { state, manifest: seen.manifest }, listed, nowMs);
    loop.runs.delete(listed.id);
    return;
  }
  const finishing = draft.state.phase === "finishing" && working.phase !== "finishing";
  if (finishing && !(await markerStands(ports, leader, listed))) {
    loop.hurry = true;
    return;
  }
  // What was adopted is older than this look.
  if ((await perform(ports, leader, run, draft, time)) === "adopted") return;
  await sendMore(ports, leader, run, share, nowMs);
  if (hasComeToRest(run.chain.state(), marker, spec, time))
    await layToRest(ports, leader, loop, run, marker, listed);
}

/** Says on the marker that nobody has to lead for this command any more; the next command takes that back. */
async function layToRest(
  ports: CoordinatorPorts,
  leader: Ownership,
  loop: Loop,
  run: OpenRun,
  marker: Marker,
  listed: ListedMarker,
): Promise<void> {
  if (run.memory.dirty) await run.chain.write(run.working);
  leader.assertLeading();
  const metadata = encodeMarker({ ...marker, rests: marker.command });
  const options = { ifMatch: listed.etag, signal: leader.lost };
  const told = await ports.storage.blobs.setMetadata(ports.names.active, listed.id, metadata, options);
  if (told.kind === "replaced") loop.runs.delete(listed.id);
}

/** Fills the window in rounds of sends and a state write; after a few of them the other runs have their turn. */
async function sendMore(
  ports: CoordinatorPorts,
  leader: Ownership,
  run: OpenRun,
  share: Share,
  nowMs: number,
): Promise<void> {
  for (let round = 1; round < limits.sendRoundsMax; round += 1) {
    const more = decideMore(run.working, run.memory, share, nowMs);
    if (more.packs.length === 0) return;
    const done = await perform(ports, leader, run, more, { nowMs, localMs: ports.clock.monotonicMs() });
    if (done === "adopted") return;
  }
}

async function executeDelete(
  ports: CoordinatorPorts,
  leader: Ownership,
  loop: Loop,
  marker: Marker,
  listed: ListedMarker,
): Promise<void> {
  if ((await beginDeletion(ports, leader, marker, listed.id)) === "begun")
    return goOnDeleting(ports, leader, loop, marker.uid, listed);
  leader.assertLeading();
  const { blobs } = ports.storage;
  await blobs.remove(ports.names.active, listed.id, { ifMatch: listed.etag, signal: leader.lost });
}

async function goOnDeleting(
  ports: CoordinatorPorts,
  leader: Ownership,
  loop: Loop,
  uid: string,
  listed: ListedMarker,
): Promise<void> {
  loop.runs.delete(listed.id);
  if ((await deleteRun(ports, leader, uid, listed, loop.budget)) === "more") loop.hurry = true;
}

/** A command that came between the list and the record of `finishing` must still count, so the marker is looked at again. */
async function markerStands(ports: CoordinatorPorts, leader: Ownership, listed: ListedMarker) {
  const now = await ports.storage.blobs.head(ports.names.active, listed.id, { signal: leader.lost });
  return now.kind === "found" && now.properties.etag === listed.etag;
}
