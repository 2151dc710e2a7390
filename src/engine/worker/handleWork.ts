import { messageOf } from "../model/errors.ts";
import { logEvents } from "../model/log.ts";
import { attemptOf, type MessageOf, type WorkMessage, workOf } from "../model/message.ts";
import { askedLevel } from "../model/prefixes.ts";
import { manifestSchema } from "../model/run.ts";
import { resultBlobs, runBlobs } from "../model/runBlobs.ts";
import { checkNamed } from "../model/storedSpec.ts";
import { pagesOf, persist, readDocument } from "../storage/callSteps.ts";
import { answerSoFar } from "./answerSoFar.ts";
import { askAgain } from "./askAgain.ts";
import { decodeDelivery, enqueueAgain } from "./attempt/decodeDelivery.ts";
import { endAttempt, pieceOf } from "./attempt/endAttempt.ts";
import { endSend } from "./attempt/endSend.ts";
import { outputThere } from "./attempt/outputThere.ts";
import { rightCode } from "./attempt/rightCode.ts";
import { combineNode } from "./combine.ts";
import { computePack, verifyPack } from "./compute.ts";
import { finishRun } from "./finish.ts";
import type { ChunkNow, HeldWork } from "./heartbeats.ts";
import { stillWanted } from "./markerWatch.ts";
import { planRun } from "./plan.ts";
import type { Attempt, Delivery, WorkerPorts } from "./ports.ts";
import { NoThreadError } from "./threads/threadSlots.ts";

/**
 * Does what one message says. Workers never decide: they compute, fold and write under names that the message fixes.
 *
 * One delivery is one attempt, and it ends by writing its output, a record, or a message for the next attempt. So a
 * message that is delivered again tells that a process ended without any. Its work is not begun again; the leader decides
 * whether it is resent.
 *
 * Not promised: that a message is handled once. Every output is create-only, so a second handling changes nothing.
 */
export async function handleWork(ports: WorkerPorts, delivery: Delivery): Promise<void> {
  ports.deliveries.now += 1;
  try {
    const message = await decodeDelivery(ports, delivery);
    if (message === undefined) return;
    const held = ports.heartbeats.hold(message);
    await handleOne(ports, message, delivery, held).finally(() => held.end());
  } finally {
    ports.deliveries.now -= 1;
  }
}

async function handleOne(
  ports: WorkerPorts,
  message: WorkMessage,
  delivery: Delivery,
  held: HeldWork,
): Promise<void> {
  const startedMs = ports.clock.monotonicMs();
  try {
    const done = await attempt(ports, message, delivery, held);
    const ms = Math.round(ports.clock.monotonicMs() - startedMs);
    const { waitedMs } = delivery;
    ports.log(logEvents.workDone({ ...pieceOf(message), ms, waitedMs, ...done }));
  } catch (error) {
    await endAttempt(ports, message, { ...delivery, held, startedMs }, error);
    // Until then the host takes no other message in its place.
    if (error instanceof NoThreadError) await error.freed;
  }
}

async function attempt(
  ports: WorkerPorts,
  message: WorkMessage,
  delivery: Delivery,
  held: HeldWork,
): Promise<{ readonly outcome: string; readonly calculation?: string }> {
  await stillWanted(ports, message, "begin");
  if (message.kind === "cleanup") return { outcome: await cleanUp(ports, message) };
  const spec = await ports.documents.spec(message);
  const { calculation } = spec;
  checkNamed("spec", message.run, spec.sha256, await ports.watch.specHash(message));
  const limitMs = Math.min(ports.packLimitMs, spec.packLimitMs ?? ports.packLimitMs);
  const again = delivery.attempt > 1 || message.silent === true;
  if ((again || message.repeat === true) && (await outputThere(ports, message, spec)))
    return { outcome: "existed", calculation };
  if (again) return { outcome: await endSilent(ports, message), calculation };
  const accepted = await rightCode(ports, message);
  const isolated = message.isolated === true;

  const tag = `${message.send}-${delivery.attempt}-${ports.random.uuid().replaceAll("-", "").slice(0, 8)}`;
  const begin = (chunkNow?: ChunkNow) => persist(ports, () => held.begin(chunkNow));
  const handle = handlers[message.kind] as (ports: WorkerPorts, attempt: Attempt) => Promise<string>;
  const printed = ports.keepPrinted(message, tag);
  const work = () =>
    ports.watch.during(message, (signal) =>
      handle(ports, {
        ...{ message, delivery, tag, limitMs, isolated, accepted, signal, begin },
        onPrint: printed.add,
      }),
    );
  try {
    return { outcome: await (isolated ? ports.inTurn(work) : work()), calculation };
  } finally {
    await printed.end();
  }
}

/** Work that runs user code, by the kind of its message. */
const handlers: {
  readonly [Kind in Exclude<WorkMessage["kind"], "cleanup">]: (
    ports: WorkerPorts,
    attempt: Attempt<MessageOf<Kind>>,
  ) => Promise<string>;
} = {
  plan: planRun,
  compute: computePack,
  combine: combineNode,
  finish: finishRun,
  sofar: answerSoFar,
  verify: (ports, asked) => (asked.message.stops === undefined ? verifyPack : askAgain)(ports, asked),
};

/**
 * Deletes the partials of one shard, or without a shard all nodes; only if the manifest says that the result is complete.
 */
async function cleanUp({ storage, names }: WorkerPorts, message: MessageOf<"cleanup">): Promise<string> {
  const { run, uid, gen, shard, asked } = message;
  const { blobs } = storage;
  const { manifest } = resultBlobs(run, uid);
  const made = await readDocument(blobs, [names.results, manifest(gen)], manifestSchema);
  if (made?.value.complete !== true) return "kept";
  const at = runBlobs(run, uid);
  for await (const page of pagesOf(blobs, names.runs, shard === undefined ? at.nodes : at.partsOf(shard))) {
    const listed = page.blobs.map((blob) => blob.name).filter((name) => asked !== true || !isPrefix(name));
    if (listed.length > 0) await blobs.removeMany(names.runs, listed);
  }
  return "deleted";
}

/** Whether a node of a run that may stop is the fold of a prefix. */
const isPrefix = (name: string): boolean => new RegExp(`/nodes/\\d+/${askedLevel}/`).test(name);

/**
 * Ends a send whose attempt wrote nothing. Only where it was isolated does that count against its work; a
 * client that asked learns that its process ended.
 */
const endSilent = (ports: WorkerPorts, message: WorkMessage): Promise<string> =>
  endSend(ports, message, {
    cause: "unreported",
    code: message.isolated === true || workOf(message) === undefined ? "process-ended" : "lost",
    message:
      "the process that had it ended before it could write anything: out of memory, process.exit, a native crash, or the platform stopped it",
    attempts: attemptOf(message),
  });

/**
 * Records the end of a send that the host set aside as poison, and nothing else; the leader draws the consequences. It
 * never throws: a poison function that fails may be skipped forever, silently.
 */
export async function handlePoison(ports: WorkerPorts, delivery: Delivery): Promise<void> {
  try {
    const message = await decodeDelivery(ports, delivery);
    if (message === undefined) return;
    const failure = {
      ...({ cause: "unreported", code: "poison" } as const),
      message: "the host set the message aside after its last delivery, in which no worker recorded an end",
      attempts: delivery.attempt,
    };
    const outcome = await persist(ports, () => endSend(ports, message, failure));
    const { run, kind } = message;
    ports.log(logEvents.poisonRecorded({ queue: delivery.queue, run, kind, outcome }));
  } catch (error) {
    ports.log(logEvents.unexpected({ where: "poison", message: messageOf(error) }));
    // Without the record the send never ends. If this fails as well, the leader resends the work in time.
    await enqueueAgain(ports, delivery).catch(() => {});
  }
}
