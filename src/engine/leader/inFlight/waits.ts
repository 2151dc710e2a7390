import { duration } from "../../model/figures.ts";
import { limits } from "../../model/limits.ts";
import { hasOutcome } from "../../model/outcomes.ts";
import { type Layout, packsOf, shardOf } from "../../model/packs.ts";
import { parseWorkName, workName } from "../../model/runBlobs.ts";
import { deadlineMs, type Sends, type State } from "../../model/state.ts";
import { endAtDeadline } from "../decide/command.ts";
import { type Draft, packsAllowed, sendsOf } from "../decide/draft.ts";
import { unfinishedPacks } from "../decide/track.ts";
import type { RunNotes, Wait } from "../notes.ts";
import type { Observed, Seen, SeenHeartbeat } from "../seen.ts";

/**
 * Work whose message is invisible until its next attempt, as the notes of attempts tell (rule *waits*). No queue
 * shows it and no process has it, and it is not lost: until then nothing is done about it.
 *
 * Not promised: that the message is there. Once its time has come it counts as taken, and is resent if nobody has it.
 */
export function trackWaits({ state, notes }: Draft, { tried }: Pick<Seen, "tried">): void {
  const waits = new Map(notes.waits);
  for (const { work, generation, send, atMs, laterS = 0, code, message } of tried) {
    if (generation !== state.generation) continue;
    const name = workName(work);
    const known = waits.get(name);
    if (known !== undefined && (known.send > send || (known.send === send && known.notedMs > atMs))) continue;
    waits.set(name, { send, notedMs: atMs, untilMs: atMs + 1_000 * laterS, code, message });
  }
  const hasEnded = state.layout && hasOutcome(state, state.layout);
  for (const [name, { send }] of waits) {
    const work = parseWorkName(name);
    const over = work?.kind === "pack" && hasEnded?.(work.pack) !== false;
    const { awaitedFrom = Number.POSITIVE_INFINITY } = sendsIn(state, name) ?? {};
    if (over || send < awaitedFrom) waits.delete(name);
  }
  notes.waits = waits;
}

function sendsIn(state: State, name: string): Sends | undefined {
  const work = parseWorkName(name);
  return work?.kind === "pack" ? sendsOf(state, work.pack) : state.tasks[name];
}

/** The wait that the latest send of a piece of work has noted, however long ago. */
export function waitOf({ waits }: Pick<RunNotes, "waits">, name: string, sends?: Sends): Wait | undefined {
  const wait = waits.get(name);
  return wait?.send === sends?.send ? wait : undefined;
}

/** No queue shows its message before. */
export const isInvisible = (wait: Wait | undefined, { nowMs }: Observed): boolean =>
  wait !== undefined && nowMs <= wait.untilMs;

/** A heartbeat from before the wait: of an attempt that has noted its end it tells nothing more. */
export const isFromBefore = (
  heartbeat: SeenHeartbeat,
  wait: Wait | undefined,
  { nowMs }: Observed,
): boolean => wait !== undefined && wait.untilMs > wait.notedMs && nowMs - heartbeat.silentMs <= wait.notedMs;

/** Its message may be behind those that the urgent queue shows: many come back at the same time. */
export const isBehind = (wait: Wait | undefined, { urgent }: Observed): boolean =>
  wait !== undefined && urgent.full && wait.untilMs + limits.sendMs >= (urgent.oldestMs ?? 0);

/**
 * Tells what waits, and until when nothing else is to be done: only the tasks of a paused run are. A wait beyond the deadline is
 * not waited once nothing else is left.
 */
export function judgeWaits(draft: Draft, { spec: { deadline }, lists }: Pick<Seen, "spec" | "lists">): void {
  const { state, notes, at } = draft;
  const { layout, paused, phase } = state;
  const computes = phase === "computing" && !paused && layout !== undefined;
  const nameOf = (pack: number) => workName({ kind: "pack", shard: shardOf(layout as Layout, pack), pack });
  const packs = computes && notes.waits.size > 0 ? unfinishedPacks(state).map(nameOf) : [];
  const works = [...Object.keys(state.tasks), ...packs];
  const waiting = works.flatMap((work) => {
    const wait = waitOf(notes, work, sendsIn(state, work));
    return wait === undefined || wait.untilMs <= at.nowMs ? [] : [{ ...wait, work }];
  });
  const [first] = waiting.sort((a, b) => a.untilMs - b.untilMs);
  if (lists.failuresAtMs > Number.NEGATIVE_INFINITY) tell(draft, waiting);
  const sends = computes && state.cursor < packsOf(layout) && state.inFlight < packsAllowed(state);
  const idle = first !== undefined && waiting.length === works.length && !sends;
  if (idle && !paused && deadline !== undefined && first.untilMs > deadlineMs(deadline, state)) {
    const what = `all that is left waits until after its deadline of ${duration(deadline.ms / 1_000)}`;
    endAtDeadline(draft, deadline, `${what}: ${first.message}`);
  }
  // What a run gives up is given up by the next poll.
  const rests = idle && !(phase === "computing" && state.keep === true);
  notes.idleUntilMs = rests ? first.untilMs : undefined;
  notes.idleUntilLocalMs = rests ? at.localMs + first.untilMs - at.nowMs : undefined;
}

/** For readers of the state. */
function tell(draft: Draft, waiting: readonly (Wait & { readonly work: string })[]): void {
  const { state } = draft;
  const [first] = waiting;
  if (first === undefined) {
    draft.noted ||= state.waits !== undefined;
    delete state.waits;
    return;
  }
  const { untilMs, work, code } = first;
  const message = first.message.slice(0, toldCharactersMax);
  const before = state.waits;
  const lastMs = waiting.at(-1)?.untilMs ?? untilMs;
  state.waits = { works: waiting.length, untilMs, lastMs, work, code, message };
  draft.noted ||= before?.untilMs !== untilMs || before.lastMs !== lastMs || before.works !== waiting.length;
}

const toldCharactersMax = 300;
