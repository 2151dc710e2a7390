import { CalculationError, LeasefoldError, messageOf } from "../model/errors.ts";
import { logEvents } from "../model/log.ts";
import type { WorkMessage } from "../model/message.ts";
import { resultBlobs, runBlobs } from "../model/names.ts";
import { answerSoFar } from "./answerSoFar.ts";
import { cleanUp } from "./cleanUp.ts";
import { combineNode } from "./combineNode.ts";
import { computePack } from "./computePack.ts";
import { endSend } from "./endSend.ts";
import { noteTried } from "./failureRecord.ts";
import { fateOf } from "./fateOf.ts";
import { finishRun } from "./finishRun.ts";
import { planRun } from "./planRun.ts";
import { type Delivery, type Job, StorageLostError, type WorkerPorts } from "./ports.ts";
import { recordDropped } from "./recordDropped.ts";
import { stillWanted } from "./stillWanted.ts";
import { putBack, understand } from "./understand.ts";
import { verifyPack } from "./verifyPack.ts";

/**
 * Does what one message says, once. Workers never decide: they compute, fold and write under names that the
 * message fixes. Returning completes the message; throwing gives it back to the host for another delivery.
 *
 * Not promised: that a message is handled once. Every output is create-only, so a second handling changes nothing.
 */
export async function handleWork(ports: WorkerPorts, delivery: Delivery): Promise<void> {
  const message = await understand(ports, delivery);
  if (message === undefined) return;
  const { run, uid, kind, send } = message;
  const piece = { run, uid, kind, send, attempt: delivery.attempt };
  const startedMs = ports.clock.monotonicMs();
  try {
    const tag = `${send}-${delivery.attempt}-${ports.random.uuid().replaceAll("-", "").slice(0, 8)}`;
    const outcome = await dispatch(ports, { message, delivery, tag });
    ports.log(
      logEvents.workDone({ ...piece, ms: Math.round(ports.clock.monotonicMs() - startedMs), outcome }),
    );
  } catch (error) {
    const dropped = (why: string) => ports.log(logEvents.workDropped({ ...piece, why }));
    const code = error instanceof LeasefoldError ? error.code : "unexpected";
    const why = messageOf(error);
    const failed = (last: boolean) => ports.log(logEvents.workFailed({ ...piece, code, message: why, last }));
    const lost = error instanceof StorageLostError;
    const asked = kind === "sofar" || kind === "verify";
    switch (fateOf(error, { last: delivery.last, asked })) {
      case "drop":
        return dropped(why);
      case "malformed":
        return await recordDropped(ports, delivery, error);
      case "put-back":
        failed(false);
        return await putBack(ports.storage, delivery);
      case "again":
        failed(false);
        if (error instanceof CalculationError && delivery.attempt === 1)
          await noteTried(ports.storage.blobs, ports.names, message);
        throw error;
      case "end": {
        if (lost && (await outputThere(ports, message)))
          return dropped("another attempt has written the output");
        failed(true);
        const cause = lost ? "storage-lost" : "error";
        await endSend(ports, message, { cause, code, message: why, attempts: delivery.attempt });
      }
    }
  }
}

async function dispatch(ports: WorkerPorts, job: Job<WorkMessage["kind"]>): Promise<string> {
  const { message, delivery, tag } = job;
  await stillWanted(ports, message, "begin");
  switch (message.kind) {
    case "plan":
      return planRun(ports, { message, delivery, tag });
    case "compute":
      return computePack(ports, { message, delivery, tag });
    case "combine":
      return combineNode(ports, { message, delivery, tag });
    case "finish":
      return finishRun(ports, { message, delivery, tag });
    case "cleanup":
      return cleanUp(ports, { message, delivery, tag });
    case "sofar":
      return answerSoFar(ports, { message, delivery, tag });
    case "verify":
      return verifyPack(ports, { message, delivery, tag });
  }
}

/** Whether the node or the manifest is there: then its inputs may well be cleaned up already. */
async function outputThere(ports: WorkerPorts, message: WorkMessage): Promise<boolean> {
  const { run, uid, gen, kind } = message;
  // A client's question has no output but its answer.
  if (kind === "sofar" || kind === "verify") return false;
  const { blobs } = ports.storage;
  const manifest = await blobs.head(ports.names.results, resultBlobs(run, uid).manifest(gen));
  if (manifest.kind === "found") return true;
  if (kind !== "combine") return false;
  const node = await blobs.head(ports.names.runs, runBlobs(run, uid).node(gen, message.level, message.index));
  return node.kind === "found";
}
