import { emptyBitmap, encodeBitmap, setBit } from "../../model/bitmap.ts";
import { decodeJson, wireVersion } from "../../model/decode.ts";
import { CalculationError, CorruptDataError, NotReadyError } from "../../model/errors.ts";
import { encodeMessage, type MessageOf } from "../../model/message.ts";
import { type Layout, shardsOf } from "../../model/packs.ts";
import { type Answer, answerSchema, type Manifest } from "../../model/run.ts";
import { resultBlobs } from "../../model/runBlobs.ts";
import { isFinal, type State } from "../../model/state.ts";
import { encodeGens } from "../../model/tree.ts";
import type { Client } from "../client.ts";
import { clientLimits } from "../client.ts";
import { checkedStream, findManifest } from "../result.ts";
import { readState, requireSpec } from "../runDocuments.ts";
import { newUid } from "../runRequest.ts";

/** What a run would give if it ended now, and which chunks that covers. */
export type AnswerSoFar = Extract<Answer, { readonly ok: true }>;

export type SoFar<T> =
  /** The run has its result, which says more than any answer. */
  | { readonly kind: "finished"; readonly manifest: Manifest }
  | { readonly kind: "answered"; readonly answer: AnswerSoFar; readonly value: T };

/**
 * Asks a worker to fold what there is of a run, and hands the answer's bytes to `use`; they are checked on their
 * way as those of a result. The answer's blobs are deleted when `use` is done.
 *
 * Throws `NotReadyError`: as `findManifest` for a run that ended without a result, `nothing-yet` before the run
 * computes, and `no-answer` where no worker answered in time; `CalculationError` where the calculation failed.
 */
export async function soFar<T>(
  client: Client,
  id: string,
  options: { readonly waitMs?: number | undefined; readonly signal?: AbortSignal },
  use: (answer: AnswerSoFar, body: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<SoFar<T>> {
  const { run, uid } = (await requireSpec(client, id)).value;
  const finished = await finishedManifest(client, id);
  if (finished !== undefined) return { kind: "finished", manifest: finished };
  const state = (await readState(client, id, uid))?.value;
  if (state?.layout === undefined || isFinal(state.phase)) {
    throw new NotReadyError("nothing-yet", `run ${id} has computed nothing yet: it is waiting or planned`, {
      retry: "later",
    });
  }
  const tag = newUid(client.random);
  const message = soFarMessage(state, state.layout, tag);
  await client.storage.queues.send(client.names.urgent, encodeMessage(message));
  const name = resultBlobs(run, uid).answer(tag);
  const left = [name];
  try {
    const answer = await awaitAnswerBlob(client, id, name, options);
    if (answer.ok) {
      left.push(answer.blob);
      const value = await use(answer, await openAnswer(client, answer, options.signal));
      return { kind: "answered", answer, value };
    }
    if (answer.code === "finished") return { kind: "finished", manifest: await findManifest(client, id) };
    throw new CalculationError(
      answer.code,
      `the answer so far of ${id} could not be made: ${answer.message}`,
    );
  } finally {
    await client.storage.blobs.removeMany(client.names.results, left);
  }
}

/** Undefined while the run works; throws where it ended without a result. */
async function finishedManifest(client: Client, id: string): Promise<Manifest | undefined> {
  try {
    return await findManifest(client, id);
  } catch (error) {
    if (error instanceof NotReadyError && error.code === "not-finished") return undefined;
    throw error;
  }
}

/** Which nodes and which open shards a worker is to fold, as the state knows them. */
export function soFarMessage(state: State, layout: Layout, tag: string): MessageOf<"sofar"> {
  const shards = shardsOf(layout);
  const nodes = emptyBitmap(shards);
  const gens = new Array<number>(shards).fill(state.generation);
  const open = Object.keys(state.open).map(Number);
  for (const [name, { node, gen }] of Object.entries(state.sealed)) {
    const shard = Number(name);
    if (node) {
      setBit(nodes, shard);
      gens[shard] = gen;
    } else open.push(shard);
  }
  const mixed = gens.some((gen) => gen !== state.generation);
  return {
    v: wireVersion,
    kind: "sofar",
    run: state.run,
    uid: state.uid,
    gen: state.generation,
    send: 1,
    turn: state.turn,
    ...(state.code === undefined ? {} : { code: state.code }),
    ...(state.mix === undefined ? {} : { mix: state.mix }),
    ...(state.origin === undefined ? {} : { origin: state.origin }),
    tag,
    nodes: encodeBitmap(nodes),
    ...(mixed ? { childGens: encodeGens(gens) } : {}),
    open: open.sort((a, b) => a - b).slice(0, clientLimits.soFarOpenMax),
  };
}

async function awaitAnswerBlob(
  client: Client,
  id: string,
  name: string,
  {
    waitMs = clientLimits.soFarWaitMs,
    signal,
  }: { readonly waitMs?: number | undefined; readonly signal?: AbortSignal },
): Promise<Answer> {
  const untilMs = client.clock.monotonicMs() + waitMs;
  const nap = answerPace(client);
  for (;;) {
    const found = await client.storage.blobs.read(client.names.results, name);
    if (found.kind === "found") return decodeJson(answerSchema, found.body, name);
    if (signal?.aborted || client.clock.monotonicMs() >= untilMs) {
      throw new NotReadyError(
        "no-answer",
        `no worker answered for ${id} within ${waitMs / 1_000} s; they may all be busy, or none runs`,
        { retry: "later" },
      );
    }
    await nap(signal);
  }
}

async function openAnswer(
  client: Client,
  answer: AnswerSoFar,
  signal: AbortSignal | undefined,
): Promise<AsyncIterable<Uint8Array>> {
  const found = await client.storage.blobs.stream(client.names.results, answer.blob, { signal });
  if (found.kind === "found") return checkedStream(found.body, answer);
  throw new CorruptDataError("answer-missing", `the answer of ${answer.run} is gone: ${answer.blob}`);
}

/** Sleeps between two looks for a worker's answer. */
export function answerPace({ clock }: Pick<Client, "clock">): (signal?: AbortSignal) => Promise<void> {
  const { answerPollMs, answerPollSlowMs, answerPollFastForMs } = clientLimits;
  const startedMs = clock.monotonicMs();
  return (signal) => {
    const fast = clock.monotonicMs() - startedMs < answerPollFastForMs;
    return clock.sleep(fast ? answerPollMs : answerPollSlowMs, signal);
  };
}
