import { InvariantError, StorageError } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import { type Log, logEvents } from "../model/log.ts";
import { encodeMessage, type WorkMessage } from "../model/message.ts";
import type { Names } from "../model/names.ts";
import { phaseMoves, type State } from "../model/state.ts";
import type { Clock, Storage } from "../storage/ports.ts";
import { type Draft, type Memory, packMessage, type TaskSend, taskMessage } from "./draft.ts";
import { packsAtOnce } from "./pace.ts";
import { recordedTasks } from "./resend.ts";
import type { Ownership, StateChain } from "./stateChain.ts";

/** What the leader's shell acts on. */
export interface CoordinatorPorts {
  readonly storage: Storage;
  readonly names: Names;
  readonly clock: Clock;
  readonly log: Log;
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
): Promise<void> {
  const { chain, memory } = run;
  const before = chain.state();
  if (memory.tasksUnsent) await sendRecorded(ports, owner, run);
  await sendAll(
    ports,
    owner,
    draft.packs.map((one) => ({ message: packMessage(draft.state, one), urgent: one.urgent })),
    // Puts at the same time come in any order. Lateness is judged by the order, so no more than what is computed at
    // the same time anyway.
    Math.max(limits.sendsAtOnceMin, packsAtOnce(draft.state)),
  );
  logSends(ports, owner, draft);
  const next: State = { ...draft.state, updatedMs: at.nowMs };
  run.working = next;
  memory.sendsUnwritten += draft.packs.length;
  const progressed = next.packsDone !== before.packsDone || memory.sendsUnwritten > 0;
  const due = at.localMs - memory.wroteMs >= limits.progressWriteMs;
  const full = memory.sendsUnwritten >= limits.sendsPerWriteMax;
  if (!draft.decided && !full && !(progressed && due)) return;
  assertLegalMove(before, next);
  memory.wroteMs = at.localMs;
  memory.tasksUnsent = true;
  const outcome = await writeOrFallBack(run, next);
  run.working = chain.state();
  memory.sendsUnwritten = 0;
  // What stands is an earlier write of mine; the next look finds out what was sent of it.
  if (outcome === "adopted") return;
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

/** Puts messages with bounded parallelism; stops at once when the term ends. */
export async function sendAll(
  ports: CoordinatorPorts,
  owner: Ownership,
  sends: readonly { readonly message: WorkMessage; readonly urgent: boolean }[],
  atOnce: number = limits.sendsAtOnce,
): Promise<void> {
  const waiting = sends.values();
  const hedges = { left: Math.ceil(sends.length * limits.hedgesShare) };
  let failed: { readonly error: unknown } | undefined;
  const putSome = async (): Promise<void> => {
    // They share one iterator, so each message is put by one of them.
    for (const { message, urgent } of waiting) {
      const queue = urgent ? ports.names.urgent : ports.names.packs;
      try {
        await sendOne(ports, owner, queue, encodeMessage(message), hedges);
      } catch (error) {
        failed ??= { error };
      }
      if (failed !== undefined) return;
    }
  };
  const putters = Math.min(atOnce, limits.sendsAtOnce, sends.length);
  await Promise.all(Array.from({ length: putters }, putSome));
  if (failed !== undefined) throw (failed as { readonly error: unknown }).error;
}

/** A put without an answer is repeated: it may double the message, which only costs compute. */
async function sendOne(
  ports: CoordinatorPorts,
  owner: Ownership,
  queue: string,
  text: string,
  hedges: { left: number },
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    owner.assertLeading();
    try {
      await putHedged(ports, owner, queue, text, hedges);
      return;
    } catch (error) {
      const busy = error instanceof StorageError && error.kind === "busy";
      if (!busy || attempt >= limits.sendTries) throw error;
      await ports.clock.sleep(100 * attempt, owner.lost);
    }
  }
}

/** One slow put holds up all that were sent with it, so the few slowest are put twice and the first answer counts. */
async function putHedged(
  { storage, clock }: CoordinatorPorts,
  owner: Ownership,
  queue: string,
  text: string,
  hedges: { left: number },
): Promise<void> {
  const put = () => storage.queues.send(queue, text, { signal: owner.lost });
  const first = put();
  let stopWaiting = (): void => {};
  const slow = new Promise<"slow">((resolve) => {
    stopWaiting = clock.after(limits.hedgeAfterMs, () => resolve("slow"));
  });
  try {
    if ((await Promise.race([first, slow])) !== "slow" || hedges.left <= 0) return void (await first);
  } finally {
    stopWaiting();
  }
  hedges.left -= 1;
  owner.assertLeading();
  await Promise.any([first, put()]).catch(() => first);
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
