import { addCalls, type CallCounts, noCalls, subtractCalls } from "../model/calls.ts";
import { limits } from "../model/limits.ts";
import type { ListedBlob } from "../storage/ports.ts";
import { advance, type Loop } from "./advance.ts";
import { pauseBetween } from "./decide/pace.ts";
import { alone, shareOut } from "./decide/window.ts";
import { listMarkers } from "./look/markers.ts";
import type { OpenRun } from "./look/openRun.ts";
import type { CoordinatorPorts, RunWork } from "./perform/perform.ts";
import type { Ownership } from "./perform/stateChain.ts";
import { TroubledRuns } from "./perform/trouble.ts";

/**
 * What a leader does with its term: it lists the markers, advances each run, sleeps, and comes again until no run
 * is left or its signal fires.
 *
 * Not promised: that only one instance is in here. Two that both believe they lead cost duplicate work; every
 * write that matters is create-only, or stands on an ETag that a newer term has already moved. Nor that every run is
 * looked at in every loop: where there are more than a loop's list pages reach, they take turns.
 */
export interface Leader extends Ownership {
  /** Fires when leading has to end, planned or not: no new look is begun, the one at work goes on to its end. */
  readonly signal: AbortSignal;
  /** Tells the election that this leader is getting on. */
  progress(): void;
  /** Shown to whoever asks who leads. */
  note(notes: Readonly<Record<string, string>>): void;
}

export interface CoordinateSettings {
  readonly loopMs: number;
  readonly fastLoopMs: number;
}

export async function coordinate(
  ports: CoordinatorPorts,
  leader: Leader,
  settings: CoordinateSettings,
  newer: { gaveWay: boolean },
): Promise<void> {
  const runs = new Map<string, OpenRun>();
  const turns = turnTaking();
  const troubled = new TroubledRuns();
  let calls: CallCounts = ports.storage.meter.counts();
  while (!leader.signal.aborted) {
    const listed = await listMarkers(ports, leader, troubled);
    if (listed === "unreachable") continue;
    const { markers, nowMs, pages } = listed;
    ports.tellActive?.(leader.term, markers.length);
    const known = new Set(markers.map((marker) => marker.name));
    for (const id of runs.keys()) if (!known.has(id)) runs.delete(id);
    if (markers.length === 0) return;

    const shares = sharesOf(runs);
    const loop: Loop = {
      ...{ runs, nowMs, newer, troubled },
      budget: { left: Math.max(limits.pagesPerLoopMax - pages, limits.pagesForRunsMin) },
      pagesEach: 1,
      unlisted: new Set(),
      shareOf: (id) => shares.get(id) ?? alone,
      hurry: false,
    };
    const localMs = ports.clock.monotonicMs();
    const order = turns.order(markers).filter((marker) => !troubled.waits(marker, localMs));
    for (let from = 0; from < order.length && loop.budget.left > 0; from += limits.runsAtOnce) {
      // A planned end must not wait for hundreds of runs.
      if (leader.signal.aborted) break;
      const batch = order.slice(from, from + limits.runsAtOnce);
      loop.pagesEach = Math.max(1, Math.floor(loop.budget.left / batch.length));
      const ends = await Promise.allSettled(batch.map((marker) => advance(ports, leader, loop, marker)));
      const ended = ends.find((one) => one.status === "rejected");
      if (ended !== undefined) throw ended.reason;
      for (const marker of batch) if (!loop.unlisted.has(marker.name)) turns.taken(marker);
      leader.progress();
    }
    calls = shareCalls(ports, runs, calls);
    leader.note({ runs: String(runs.size), working: [...runs.values()].slice(0, 3).map(shortly).join(", ") });
    const pauseMs = loop.hurry ? 0 : pauseBetween([...runs.values()], settings, ports.clock.monotonicMs());
    await ports.clock.sleep(pauseMs, leader.signal);
  }
  if (!leader.lost.aborted) await writeAll([...runs.values()]);
}

/** A planned end leaves the cursor where it is, so that the next leader sends nothing twice. */
async function writeAll(runs: readonly OpenRun[]): Promise<void> {
  const dirty = runs.filter(({ memory }) => memory.dirty);
  const refused: unknown[] = [];
  for (let from = 0; from < dirty.length; from += limits.writesAtOnce) {
    const some = dirty.slice(from, from + limits.writesAtOnce);
    const ends = await Promise.allSettled(some.map((run) => run.chain.write(run.working)));
    refused.push(...ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : [])));
  }
  if (refused.length > 0) throw refused[0];
}

/** Who is served first: a run whose marker changed, then whoever has waited longest. */
function turnTaking() {
  const last = new Map<string, { readonly etag: string; readonly turn: number }>();
  let turn = 0;
  const rank = ({ name, etag }: ListedBlob): number => {
    const seen = last.get(name);
    return seen === undefined || seen.etag !== etag ? 0 : seen.turn;
  };
  return {
    order(markers: readonly ListedBlob[]): ListedBlob[] {
      const names = new Set(markers.map((marker) => marker.name));
      for (const name of last.keys()) if (!names.has(name)) last.delete(name);
      turn += 1;
      return [...markers].sort((a, b) => rank(a) - rank(b));
    },
    taken: ({ name, etag }: ListedBlob): void => void last.set(name, { etag, turn }),
  };
}

function sharesOf(runs: ReadonlyMap<string, OpenRun>) {
  const shares = shareOut([...runs.values()].map((run) => run.working));
  return new Map([...runs.keys()].map((id, place) => [id, shares[place] ?? alone]));
}

/** `my-run computing 35 %`, for whoever asks what the leader does. */
function shortly({ working: { run, phase, layout, chunksDone } }: OpenRun): string {
  const share =
    layout === undefined || layout.chunks === 0 ? "" : ` ${Math.floor((100 * chunksDone) / layout.chunks)} %`;
  return `${run} ${phase}${phase === "computing" ? share : ""}`;
}

/** Spreads what this loop's calls were over the runs it served; they are an estimate per run, exact in total. */
export function shareCalls(
  ports: Pick<CoordinatorPorts, "storage">,
  runs: ReadonlyMap<string, RunWork>,
  before: CallCounts,
): CallCounts {
  const now = ports.storage.meter.counts();
  const spent = subtractCalls(now, before);
  let rest = spent;
  const count = runs.size;
  for (const [index, run] of [...runs.values()].entries()) {
    const share = index === count - 1 ? rest : divide(spent, count);
    rest = subtractCalls(rest, share);
    run.working = { ...run.working, calls: addCalls(run.working.calls, share) };
  }
  return count === 0 ? before : now;
}

const divide = (calls: CallCounts, by: number): CallCounts =>
  Object.fromEntries(
    Object.keys(noCalls).map((name) => [name, Math.floor(calls[name as keyof CallCounts] / by)]),
  ) as unknown as CallCounts;
