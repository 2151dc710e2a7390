import { emptyBitmap, encodeBitmap, setBit } from "../../model/bitmap.ts";
import { decodeJson } from "../../model/decode.ts";
import { CalculationError, CorruptDataError, NotReadyError } from "../../model/errors.ts";
import { encodeMessage, type MessageOf } from "../../model/message.ts";
import { type Layout, shardsOf } from "../../model/packs.ts";
import { type Answer, answerSchema, type Manifest } from "../../model/run.ts";
import { resultBlobs } from "../../model/runBlobs.ts";
import { isFinal, type State } from "../../model/state.ts";
import { encodeGens } from "../../model/tree.ts";
import { versions } from "../../model/versions.ts";
import { type Client, clientLimits, defined } from "../client.ts";
import { unlessDenied } from "../containersAndQueues.ts";
import { checkedStream, findManifest } from "../result.ts";
import { readState, requireSpec } from "../runDocuments.ts";
import { newUid } from "../runRequest.ts";

/** The result that a run would have if it ended now, and the chunks that it covers. */
export type AnswerSoFar = Extract<Answer, { readonly ok: true }>;

export type SoFar<T> =
  /** The run's newest generation has a result, which says more than any answer. */
  | { readonly kind: "finished"; readonly manifest: Manifest }
  | { readonly kind: "answered"; readonly answer: AnswerSoFar; readonly value: T };

interface SoFarOptions {
  readonly waitMs?: number | undefined;
  readonly signal?: AbortSignal;
}

/**
 * Asks a worker to fold the partials and nodes of a run, and passes the answer's bytes to `use`, which are checked like
 * those of a result. The answer's blobs are deleted when `use` is done. Failed and cancelled runs keep their partials, so
 * they are answered too.
 *
 * Throws `NotReadyError`: `run-failed` or `run-cancelled` for a run that ended before it computed, `nothing-yet` before the run
 * computes, and `no-answer` if no worker answered in time; `CalculationError` if the calculation failed.
 */
export async function soFar<T>(
  client: Client,
  id: string,
  options: SoFarOptions,
  use: (answer: AnswerSoFar, body: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<SoFar<T>> {
  const { run, uid } = (await requireSpec(client, id)).value;
  const found = await findManifest(client, id).catch((error: unknown) => {
    // It says why there is no manifest: the run works, failed or was cancelled.
    if (error instanceof NotReadyError) return error;
    throw error;
  });
  const state = (await readState(client, id, uid))?.value;
  if (!(found instanceof NotReadyError) && !hidesRetry(found, state))
    return { kind: "finished", manifest: found };
  const works = found instanceof NotReadyError && found.code === "not-finished";
  // A final state of a run that works is that of the generation before a retry.
  if (state?.layout === undefined || (works && isFinal(state.phase))) {
    if (found instanceof NotReadyError && !works) throw found;
    if (state !== undefined && !works) throw endedEarly(state);
    throw notReady("nothing-yet", `run ${id} has computed nothing yet: it is waiting or being planned`);
  }
  const { blobs, queues } = client.storage;
  const { results, urgent } = client.names;
  const tag = newUid(client.random);
  await queues.send(urgent, encodeMessage(soFarMessage(state, state.layout, tag)));
  const name = resultBlobs(run, uid).answer(tag);
  const left = [name];
  try {
    const answer = await awaitAnswerBlob(client, id, name, options);
    if (answer.ok) {
      left.push(answer.blob);
      const stream = await blobs.stream(results, answer.blob, { signal: options.signal });
      if (stream.kind !== "found")
        throw new CorruptDataError("answer-missing", `the answer of ${answer.run} is gone: ${answer.blob}`);
      const value = await use(answer, checkedStream(stream.body, answer));
      return { kind: "answered", answer, value };
    }
    if (answer.code === "finished") return { kind: "finished", manifest: await findManifest(client, id) };
    throw new CalculationError(answer.code, `the answer so far of ${id} failed: ${answer.message}`);
  } finally {
    // An operator deletes nothing; what is left goes with the run.
    await unlessDenied(blobs.removeMany(results, left));
  }
}

/** Whether a result is that of a generation before a retry that failed or was cancelled. */
const hidesRetry = ({ generation }: Manifest, state: State | undefined): boolean =>
  state !== undefined &&
  generation < state.generation &&
  (state.phase === "failed" || state.phase === "cancelled");

function endedEarly({ run, phase, generation }: State): NotReadyError {
  const what = `run ${run} ${phase === "failed" ? phase : `was ${phase}`} in generation ${generation}`;
  const hint = "an older result is given by its generation's number";
  return new NotReadyError(`run-${phase}`, `${what} and had computed nothing; ${hint}`);
}

const notReady = (code: string, message: string): NotReadyError =>
  new NotReadyError(code, message, { retry: "later" });

/** The message that names the nodes and the open shards to fold, by the state. */
export function soFarMessage(state: State, layout: Layout, tag: string): MessageOf<"sofar"> {
  const { run, uid, generation, turn, code, spec, plan } = state;
  const shards = shardsOf(layout);
  const nodes = emptyBitmap(shards);
  const gens = new Array<number>(shards).fill(generation);
  const open = Object.keys(state.open).map(Number);
  for (const [name, { node, gen }] of Object.entries(state.sealed)) {
    const shard = Number(name);
    if (node) {
      setBit(nodes, shard);
      gens[shard] = gen;
    } else open.push(shard);
  }
  const mixed = gens.some((gen) => gen !== generation);
  return {
    v: versions.message,
    kind: "sofar",
    run,
    uid,
    gen: generation,
    send: 1,
    turn,
    ...defined({ code, spec, plan }),
    tag,
    nodes: encodeBitmap(nodes),
    ...(state.stopped ? { stopped: layout.chunks } : {}),
    ...(mixed ? { childGens: encodeGens(gens) } : {}),
    open: open.sort((a, b) => a - b).slice(0, clientLimits.soFarOpenMax),
  };
}

async function awaitAnswerBlob(
  client: Client,
  id: string,
  name: string,
  { waitMs = clientLimits.soFarWaitMs, signal }: SoFarOptions,
): Promise<Answer> {
  const untilMs = client.clock.monotonicMs() + waitMs;
  const pause = answerPace(client);
  for (;;) {
    const found = await client.storage.blobs.read(client.names.results, name);
    if (found.kind === "found") return decodeJson(answerSchema, found.body, name);
    if (signal?.aborted || client.clock.monotonicMs() >= untilMs) {
      const reason = "they may all be busy, or none runs";
      throw notReady("no-answer", `no worker answered for ${id} within ${waitMs / 1_000} s; ${reason}`);
    }
    await pause(signal);
  }
}

/** Sleeps between two polls for a worker's answer. */
export function answerPace({ clock }: Pick<Client, "clock">): (signal?: AbortSignal) => Promise<void> {
  const { answerPollMs, answerPollSlowMs, answerPollFastForMs } = clientLimits;
  const startedMs = clock.monotonicMs();
  return (signal) => {
    const fast = clock.monotonicMs() - startedMs < answerPollFastForMs;
    return clock.sleep(fast ? answerPollMs : answerPollSlowMs, signal);
  };
}
