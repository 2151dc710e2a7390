import { limits } from "../model/limits.ts";
import { mean } from "../model/quantile.ts";
import { isFinal } from "../model/state.ts";
import { advance, type Loop } from "./advance.ts";
import { isIdle, isInFullSwing, pauseBetween } from "./decide/pace.ts";
import { shareOut } from "./decide/shares.ts";
import { lostAfterMs } from "./inFlight/judge.ts";
import { keepSchedules } from "./keepSchedules.ts";
import { possiblySentBelow } from "./notes.ts";
import { pauseOfTerm } from "./pause.ts";
import type { LocalWork } from "./perform/localWork.ts";
import { writeState } from "./perform/perform.ts";
import { recordPoison } from "./poison.ts";
import { listMarkers } from "./poll/markers.ts";
import { observer } from "./poll/observe.ts";
import type { Observed } from "./seen.ts";
import {
  type CoordinatorPorts,
  commit,
  type Leader,
  type ListedMarker,
  RunBackoff,
  type Term,
  type TermRun,
} from "./term.ts";

export interface CoordinateSettings {
  readonly loopMs: number;
  readonly fastLoopMs: number;
}

export const newTerm = (ports: CoordinatorPorts, leader: Leader, local?: LocalWork): Term => ({
  ...ports,
  leader,
  local,
  pause: pauseOfTerm(ports, leader.signal),
  runs: new Map(),
  backoff: new RunBackoff(),
  poison: { readMs: Number.NEGATIVE_INFINITY },
});

/**
 * What a leader does with its term: it lists the markers, advances each run, sleeps, and comes again until no run
 * is left or its signal fires.
 *
 * Not promised: that only one instance is in here. Two that both believe they lead cost duplicate work; every
 * write that matters is create-only, or conditional on an ETag that a newer term has already changed. Nor that every run
 * is polled in every loop: where there are more than a loop's list pages reach, they take turns.
 */
export async function coordinate(
  term: Term,
  settings: CoordinateSettings,
  /** What the leader does beside its runs, after each loop. */
  beside: () => Promise<void> = async () => {},
): Promise<void> {
  const { leader, runs, clock } = term;
  const turns = turnTaking();
  const observe = observer(term);
  let sinceMs = clock.monotonicMs();
  let told: Observed["computing"] = new Map();
  while (!leader.signal.aborted) {
    const listed = await listMarkers(term);
    if (listed === "unreachable") continue;
    const { markers } = listed;
    const schedules = await keepSchedules(term, listed.all);
    term.tellActive?.(leader.term, markers.length);
    const ids = new Set(markers.map(({ id }) => id));
    for (const id of runs.keys()) if (!ids.has(id)) runs.delete(id);
    if (markers.length === 0 && schedules.moved) continue;
    if (markers.length === 0) return;

    const localMs = clock.monotonicMs();
    const observed = await observeFor([...runs.values()], localMs, observe);
    told = observed?.computing ?? told;
    const waits = (marker: ListedMarker) =>
      term.backoff.waits(marker, localMs) ||
      (marker.metadata["want"] === "delete" && schedules.unsettled(marker.id));
    const order = turns.order(markers).filter((marker) => !waits(marker));
    const loop = newLoop(runs, order, { pages: listed.pages, localMs, observed, told });
    loop.skipPause = schedules.moved;
    await advanceAll(term, loop, order, turns.taken);
    sinceMs = shareTime(term, sinceMs);
    if (!leader.signal.aborted) {
      const standsStill = [...runs.values()].some(({ notes }) => notes.readPoison);
      if (observed !== undefined && standsStill) await recordPoison(term, observed.nowMs);
      await beside();
      // None of the runs is charged for it.
      sinceMs = clock.monotonicMs();
    }
    leader.note({ runs: String(runs.size), working: [...runs.values()].slice(0, 3).map(summary).join(", ") });
    await term.pause.sleep(loop.skipPause ? 0 : pauseOf(term, settings));
  }
  if (!leader.lost.aborted) await writeAll([...runs.values()]);
}

/** Short runs end without. In full swing nobody waits for what is lost. */
async function observeFor(
  runs: readonly TermRun[],
  localMs: number,
  observe: ReturnType<typeof observer>,
): Promise<Observed | undefined> {
  const lasting = runs.filter(
    ({ notes }) => localMs - notes.phaseSinceMs >= limits.observeEveryMs && !isIdle(notes, localMs),
  );
  if (lasting.length === 0) return undefined;
  const slow = lasting.every(
    ({ working, notes }) => isInFullSwing(working) && !notes.drained && !notes.listFailures,
  );
  // What takes long is not lost within a second.
  const fifthMs = Math.min(...lasting.map(({ working }) => lostAfterMs(working) / 5));
  return observe(slow ? limits.observeEverySlowMs : Math.max(limits.observeEveryMs, fifthMs));
}

/**
 * A run whose poll failed shortens no pause but the one in which its backoff ends, and one that is computed in this process
 * alone none: the end of its work ends the pause.
 */
function pauseOf({ runs, backoff, clock, local }: Term, settings: CoordinateSettings): number {
  const localMs = clock.monotonicMs();
  const polled = [...runs.values()].filter(
    ({ listed, sendNotes, working }) =>
      !backoff.waits(listed, localMs) && (sendNotes.queued || local?.has(working.uid) !== true),
  );
  const againMs = Math.max(backoff.endsInMs(localMs), settings.fastLoopMs);
  return Math.min(pauseBetween(polled, settings, localMs), againMs);
}

function newLoop(
  runs: ReadonlyMap<string, TermRun>,
  markers: readonly ListedMarker[],
  at: {
    readonly pages: number;
    readonly localMs: number;
    readonly observed: Observed | undefined;
    readonly told: Observed["computing"];
  },
): Loop {
  const { observed, told } = at;
  const wanted = markers.filter(({ metadata }) => metadata["want"] === "run");
  const polled = wanted.flatMap(({ id }) => runs.get(id) ?? []);
  const polledMs = mean(polled.map(({ notes }) => at.localMs - notes.polledMs));
  const heartbeatPages = observed === undefined ? 0 : 1;
  return {
    pages: { left: Math.max(limits.pagesPerLoopMax - at.pages - heartbeatPages, limits.pagesForRunsMin) },
    pagesPerRun: 1,
    shareOf: shareOut(polled, { unread: wanted.length - polled.length, polledMs, told }),
    observed,
    unlisted: new Set(),
    skipPause: false,
  };
}

/** Advances a few runs at a time while list pages are left. */
async function advanceAll(
  term: Term,
  loop: Loop,
  order: readonly ListedMarker[],
  taken: (marker: ListedMarker) => void,
): Promise<void> {
  for (let from = 0; from < order.length && loop.pages.left > 0; from += limits.runsAtOnce) {
    // A planned end must not wait for hundreds of runs.
    if (term.leader.signal.aborted) break;
    const batch = order.slice(from, from + limits.runsAtOnce);
    loop.pagesPerRun = Math.max(1, Math.floor(loop.pages.left / batch.length));
    const ends = await Promise.allSettled(batch.map((marker) => advance(term, loop, marker)));
    throwFirst(ends);
    for (const marker of batch) if (!loop.unlisted.has(marker.id)) taken(marker);
    term.leader.progress();
  }
}

/** A planned end leaves the cursor where it is, so that the next leader sends nothing twice. */
async function writeAll(runs: readonly TermRun[]): Promise<void> {
  const isAhead = ({ sendNotes, working }: TermRun) =>
    sendNotes.dirty || possiblySentBelow(working, sendNotes) > working.possiblySentUpTo;
  const ahead = runs.filter((run) => isAhead(run) && !isFinal(run.chain.state().phase));
  const ends: PromiseSettledResult<unknown>[] = [];
  for (let from = 0; from < ahead.length; from += limits.writesAtOnce) {
    const some = ahead.slice(from, from + limits.writesAtOnce);
    ends.push(...(await Promise.allSettled(some.map(writeWhole))));
  }
  throwFirst(ends);
}

/** Where an earlier write is only settled by this one, what has happened since is written after it, unless it was the last. */
async function writeWhole(run: TermRun): Promise<void> {
  const { working, chain } = run;
  if ((await writeState(run, working)) === "adopted" && !isFinal(chain.state().phase))
    await writeState(run, working);
}

function throwFirst(ends: readonly PromiseSettledResult<unknown>[]): void {
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

/** Who is served first: a run whose marker changed, then whoever has waited longest. */
function turnTaking() {
  const last = new Map<string, number>();
  let turn = 0;
  const keyOf = ({ id, etag }: ListedMarker) => `${id} ${etag}`;
  const rank = (marker: ListedMarker) => last.get(keyOf(marker)) ?? 0;
  return {
    order(markers: readonly ListedMarker[]): ListedMarker[] {
      const keys = new Set(markers.map(keyOf));
      for (const key of last.keys()) if (!keys.has(key)) last.delete(key);
      turn += 1;
      return [...markers].sort((a, b) => rank(a) - rank(b));
    },
    taken: (marker: ListedMarker): void => void last.set(keyOf(marker), turn),
  };
}

/** `my-run computing 35 %`, for whoever asks what the leader does. */
function summary({ working: { run, phase, layout, chunksDone } }: TermRun): string {
  if (phase !== "computing" || layout === undefined || layout.chunks === 0) return `${run} ${phase}`;
  return `${run} ${phase} ${Math.floor((100 * chunksDone) / layout.chunks)} %`;
}

/** Notes the time since then as spent on the runs that are led, in equal parts; returns until when. */
function shareTime({ clock, runs }: Term, sinceMs: number): number {
  if (runs.size === 0) return sinceMs;
  const nowMs = clock.monotonicMs();
  const each = (nowMs - sinceMs) / runs.size;
  for (const run of runs.values()) {
    const { working } = run;
    const { phase, led } = working;
    if (phase !== "planning" && phase !== "computing" && phase !== "finishing") continue;
    commit(run, {
      working: { ...working, led: { ...led, [phase]: led[phase] + each, polls: led.polls + 1 } },
    });
  }
  return nowMs;
}
