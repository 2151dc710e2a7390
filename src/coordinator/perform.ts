import { InvariantError, StorageError } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import { type Log, logEvents } from "../model/log.ts";
import type { Names } from "../model/names.ts";
import { phaseMoves, type State } from "../model/state.ts";
import type { Clock, Storage } from "../storage/ports.ts";
import { type Draft, type Memory, packMessage, sendKey, type TaskSend, taskMessage } from "./draft.ts";
import { packsAtOnce } from "./pace.ts";
import { recordedTasks } from "./resend.ts";
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
  if (memory.tasksUnsent) await sendRecorded(ports, owner, run);
  await sendPacks(ports, owner, draft, memory);
  logSends(ports, owner, draft);
  const next: State = { ...draft.state, updatedMs: at.nowMs };
  run.working = next;
  const progressed = next.packsDone !== before.packsDone || memory.unwritten.size > 0;
  const due = at.localMs - memory.wroteMs >= limits.progressWriteMs;
  const full = memory.unwritten.size + memory.tasksPut >= limits.sendsPerWriteMax;
  // A write without an answer is repeated until there is one, also when nothing else has happened since.
  if (!draft.decided && !full && !chain.unsettled() && !(progressed && due)) return "kept";
  assertLegalMove(before, next);
  memory.wroteMs = at.localMs;
  memory.tasksUnsent = true;
  const outcome = await writeOrFallBack(run, next);
  run.working = chain.state();
  // What stands is an earlier write of mine. What was put since is not put again when it is decided again.
  if (outcome === "adopted") return "adopted";
  memory.unwritten.clear();
  memory.tasksPut = draft.tasks.length;
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
  await sendTasks(ports, owner, next, draft.tasks);
  memory.tasksUnsent = false;
  return "written";
}

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
  // Puts at the same time come in any order. Lateness is judged by the order, so no more than what is computed at
  // the same time anyway.
  const atOnce = Math.max(limits.sendsAtOnceMin, packsAtOnce(state));
  await sendAll(ports, owner, sends, atOnce, ({ key }) => void unwritten.add(key));
}

/** What storage definitely refused was not decided: a later command must not be judged by it. */
async function writeOrFallBack(run: RunWork, next: State): Promise<"written" | "adopted"> {
  try {
    return await run.chain.write(next);
  } catch (error) {
    if (error instanceof StorageError && error.kind !== "busy") run.working = run.chain.state();
    throw error;
  }
}

/** Sends every recorded task once more: a new leader does, and one that cannot be sure that all of them were sent. */
async function sendRecorded(
  ports: CoordinatorPorts,
  owner: Ownership,
  { chain, memory }: RunWork,
): Promise<void> {
  await sendTasks(ports, owner, chain.state(), recordedTasks(chain.state()));
  memory.tasksUnsent = false;
}

/** Sends plan, combine and finish; the state that records them must have been confirmed. */
function sendTasks(
  ports: CoordinatorPorts,
  owner: Ownership,
  state: State,
  tasks: readonly TaskSend[],
): Promise<void> {
  return sendAll(
    ports,
    owner,
    tasks.map((task) => ({ message: taskMessage(state, task), urgent: true })),
  );
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
