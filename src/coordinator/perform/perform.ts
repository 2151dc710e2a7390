import { InvariantError, StorageError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { type Log, logEvents } from "../../model/log.ts";
import type { Names } from "../../model/names.ts";
import { phaseMoves, type State } from "../../model/state.ts";
import type { Clock, Storage } from "../../storage/ports.ts";
import {
  type Draft,
  type Memory,
  packMessage,
  sendKey,
  taskKey,
  taskMessage,
  unsentTasks,
} from "../decide/draft.ts";
import { mean, packsAtOnce } from "../decide/pace.ts";
import { sendAll } from "./send.ts";
import type { Ownership, StateChain } from "./stateChain.ts";

/** What the leader's shell acts on. */
export interface CoordinatorPorts {
  readonly storage: Storage;
  readonly names: Names;
  readonly clock: Clock;
  readonly log: Log;
  /** Told with each list of the markers. */
  tellActive?(term: number, runs: number): void;
  /** Numbers of state writes; never the same twice in a process. */
  nextSequence(): number;
  /** Time limit of one attempt of a pack, as workers have it. */
  readonly packLimitMs: number;
}

/** A run as the leader of one term holds it. */
export interface RunWork {
  readonly chain: StateChain;
  readonly memory: Memory;
  /** The confirmed state, or one ahead of it by progress that was not worth a write yet. */
  working: State;
}

/**
 * Performs a draft in the order that makes a crash harmless: packs are sent first and recorded after (a crash
 * sends them again), everything else is recorded first and sent only from a confirmed state.
 */
export async function perform(
  ports: CoordinatorPorts,
  owner: Ownership,
  run: RunWork,
  draft: Draft,
  at: { readonly nowMs: number; readonly localMs: number },
): Promise<"kept" | "written" | "adopted"> {
  const { chain, memory } = run;
  const before = chain.state();
  await sendTasks(ports, owner, run, before);
  await sendPacks(ports, owner, draft, memory);
  logSends(ports, owner, draft);
  const next: State = { ...draft.state, tasks: withSent(draft.state, memory), updatedMs: at.nowMs };
  run.working = next;
  const due = at.localMs - memory.wroteMs >= limits.progressWriteMs;
  const full = memory.unwritten.size + memory.tasksPut >= limits.sendsPerWriteMax;
  memory.dirty ||=
    draft.noted ||
    next.packsDone !== before.packsDone ||
    memory.unwritten.size > 0 ||
    newlySent(before, next);
  // A write without an answer is repeated until there is one, also when nothing else has happened since.
  if (!draft.decided && !full && !chain.unsettled() && !(memory.dirty && due)) return "kept";
  assertLegalMove(before, next);
  memory.wroteMs = at.localMs;
  const outcome = await writeOrFallBack(run, next);
  run.working = chain.state();
  // What stands is an earlier write of mine. What was put since is not put again when it is decided again.
  if (outcome === "adopted") return "adopted";
  memory.unwritten.clear();
  memory.tasksPut = 0;
  memory.dirty = false;
  if (before.phase !== next.phase) {
    ports.log(
      logEvents.runPhase({
        run: next.run,
        uid: next.uid,
        from: before.phase,
        to: next.phase,
        term: owner.term,
      }),
    );
  }
  await sendTasks(ports, owner, run, next);
  return "written";
}

/** Says of each task that was put in this term that it was, so that the next leader does not put it again. */
const withSent = (state: State, { tasksSent }: Memory): State["tasks"] =>
  Object.fromEntries(
    Object.entries(state.tasks).map(([name, task]) => [
      name,
      tasksSent.has(taskKey(state, name)) ? { ...task, sent: true } : task,
    ]),
  );

const newlySent = (before: State, next: State): boolean =>
  Object.entries(next.tasks).some(([name, task]) => task.sent === true && before.tasks[name]?.sent !== true);

/** Puts what was not put yet, and notes each one: if another one fails, these are not put twice. */
async function sendPacks(
  ports: CoordinatorPorts,
  owner: Ownership,
  { state, packs }: Draft,
  { unwritten }: Memory,
): Promise<void> {
  const sends = packs
    .map((one) => ({ key: sendKey(state, one), message: packMessage(state, one), urgent: one.urgent }))
    .filter(({ key }) => !unwritten.has(key));
  // Puts at the same time come in any order. Stragglers are judged by the order, so no more than what is computed at
  // the same time anyway, or in a few seconds.
  const fewer = Math.max(packMsOf(state) / limits.shortPackMs, 1);
  const atOnce = Math.max(Math.ceil(limits.sendsAtOnceMin / fewer), packsAtOnce(state));
  // What takes long is not worth a second copy.
  const hedged = packMsOf(state) <= limits.shortPackMs;
  await sendAll(ports, owner, sends, { atOnce, hedged }, ({ key }) => void unwritten.add(key));
}

/** What one pack takes. */
const packMsOf = ({ durationsMs, layout }: State): number =>
  durationsMs.length > 0 ? mean(durationsMs) : (layout?.packMs ?? 0);

/** What storage definitely refused was not decided: a later command must not be judged by it. */
async function writeOrFallBack(run: RunWork, next: State): Promise<"written" | "adopted"> {
  try {
    return await run.chain.write(next);
  } catch (error) {
    if (error instanceof StorageError && error.kind !== "busy") run.working = run.chain.state();
    throw error;
  }
}

/**
 * Sends the recorded tasks of which nobody knows that they were sent; the state that records them must have been
 * confirmed. What an earlier term recorded may have been sent by it.
 */
async function sendTasks(
  ports: CoordinatorPorts,
  owner: Ownership,
  { memory }: RunWork,
  state: State,
): Promise<void> {
  const sends = unsentTasks(state, memory).map((name) => {
    const key = taskKey(state, name);
    return { key, message: taskMessage(state, name, memory.doubtful.has(key)), urgent: true };
  });
  await sendAll(ports, owner, sends, { hedged: false }, ({ key }) => {
    memory.tasksSent.add(key);
    memory.tasksPut += 1;
  });
}

export function assertLegalMove(before: State, next: State): void {
  if (before.phase === next.phase || phaseMoves[before.phase].includes(next.phase)) return;
  throw new InvariantError(
    "illegal-move",
    `run ${next.run} may not move from ${before.phase} to ${next.phase}`,
  );
}

function logSends({ log }: CoordinatorPorts, owner: Ownership, { packs, state }: Draft): void {
  if (packs.length === 0) return;
  const again = packs.filter((one) => one.send > 1).length;
  const sent = {
    run: state.run,
    uid: state.uid,
    term: owner.term,
    packs: packs.length,
    again,
    cursor: state.cursor,
  };
  log(logEvents.packsSent(sent));
}
