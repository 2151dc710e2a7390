import { writeSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import inspector from "node:inspector/promises";
import type { AnyCalculation, Calculations } from "../../../src/engine/calculation/contract.ts";
import { type FileAccess, filesOver } from "../../../src/engine/calculation/files.ts";
import { placeOf } from "../../../src/engine/calculation/placeOf.ts";
import { runCompute, runPlan } from "../../../src/engine/calculation/runJob.ts";
import { setUp } from "../../../src/engine/calculation/shared.ts";
import type { Client } from "../../../src/engine/client/client.ts";
import { failures } from "../../../src/engine/client/failures.ts";
import { chunkInput } from "../../../src/engine/client/planInputs.ts";
import { readPlan, requireSpec } from "../../../src/engine/client/runDocuments.ts";
import { CalculationError, InputError, messageOf } from "../../../src/engine/model/errors.ts";
import { shownIdentity } from "../../../src/engine/model/identity.ts";
import type { Clock } from "../../../src/engine/storage/ports.ts";
import { calculationFailed } from "../exitCodes.ts";

/** One chunk of a run: how many chunks that has, and the input of this one where its plan lists them. */
interface PlannedChunk {
  readonly params: unknown;
  readonly index: number;
  readonly count: number;
  readonly input: unknown;
  /** In ms; absent where the plan of a run is there. */
  readonly planMs?: number;
  /** Says that the run was computed by other code than this. */
  readonly other?: string;
}

/** What one chunk took in this process. Times in ms. */
export interface Tried extends PlannedChunk {
  /** The partial as the calculation encodes it. */
  readonly partial: Uint8Array;
  readonly computeMs: number;
  /** Of that, the time in which at least one file was awaited. */
  readonly filesMs: number;
  /** Bytes of files that it read. */
  readonly fileBytes: number;
}

interface TryOptions {
  readonly access: FileAccess;
  readonly clock: Clock;
  /** Stops in the debugger before the chunk is computed. */
  readonly inspect: boolean;
  /** A file for the CPU profile, as Chrome and VS Code open it. */
  readonly profile: string | undefined;
}

/** Plans as a run would, and gives one chunk of it. Throws `InputError` where the plan has no such chunk. */
export async function planChunk(
  calculations: Calculations,
  calculation: AnyCalculation,
  given: Readonly<Record<string, unknown>>,
  { access, clock, index }: Pick<TryOptions, "access" | "clock"> & { readonly index: number },
): Promise<PlannedChunk> {
  const params = calculations.parseParams(calculation, given);
  let [input, from]: [unknown, number] = [undefined, 0];
  const startedMs = clock.monotonicMs();
  const take = async (inputs: readonly unknown[]): Promise<void> => {
    if (index >= from && index < from + inputs.length) input = inputs[index - from];
    from += inputs.length;
  };
  const { chunks } = await alone("plan", () =>
    runPlan(calculation, params, take, { files: filesOver(access) }),
  );
  checkChunk(index, chunks);
  return { params, index, count: chunks, input, planMs: clock.monotonicMs() - startedMs };
}

/**
 * A chunk of a run as its plan recorded it, by default the first that failed. Throws `InputError` for a run of another
 * calculation, and for a chunk that it does not have.
 */
export async function recordedChunk(
  client: Client,
  calculations: Calculations,
  { run, name, index }: { readonly run: string; readonly name: string; readonly index: number | undefined },
): Promise<PlannedChunk> {
  const { uid, calculation, params } = (await requireSpec(client, run)).value;
  if (calculation !== name)
    throw new InputError("invalid", "other-calculation", `${run} is a run of ${calculation}, not of ${name}`);
  const plan = (await readPlan(client, { run, uid })).value;
  const chunk = index ?? (await firstFailed(client, run)) ?? 0;
  checkChunk(chunk, plan.chunks);
  const input = await chunkInput(client, plan, chunk);
  const here = calculations.versionOf(name);
  const by = plan.code === undefined || plan.code === here ? undefined : shownIdentity(plan.code);
  return {
    params,
    index: chunk,
    count: plan.chunks,
    input,
    ...(by === undefined
      ? {}
      : { other: `${run} was computed by ${by}, and this is ${shownIdentity(here)}` }),
  };
}

async function firstFailed(client: Client, run: string): Promise<number | undefined> {
  const { failures: failed, trying } = await failures(client, run);
  return [...failed, ...trying].flatMap(({ chunks }) => chunks?.from ?? [])[0];
}

function checkChunk(index: number, chunks: number): void {
  if (index < chunks) return;
  const has = chunks === 0 ? "no chunks" : `chunks 0 to ${chunks - 1}`;
  throw new InputError("invalid", "bad-chunk", `invalid --chunk: ${index}; there are ${has}`, {
    field: "chunk",
  });
}

/** Computes one chunk in this thread, without a limit of time or memory. Throws `CalculationError` as an attempt would. */
export async function tryChunk(
  calculation: AnyCalculation,
  chunk: PlannedChunk,
  { access, clock, inspect, profile }: TryOptions,
): Promise<Tried> {
  const { params, index, count, input } = chunk;
  const files = timedFiles(access, clock);
  const pack = { params, from: index, to: index + 1, count, inputs: [input] };
  const tried = inspect ? stopping(calculation) : calculation;
  return alone(`chunk ${index}`, async () => {
    const ready = await setUp(tried, params, filesOver(files.access));
    const compute = () => runCompute(ready, pack, filesOver(files.access));
    const startedMs = clock.monotonicMs();
    const partial = await (profile === undefined ? compute() : profiled(profile, compute));
    const computeMs = clock.monotonicMs() - startedMs;
    return { ...chunk, partial, computeMs, filesMs: files.spentMs(), fileBytes: files.bytes() };
  });
}

/** Runs user code that has no thread of its own: what would end the thread is an error of the code here too. */
async function alone<T>(what: string, run: () => Promise<T>): Promise<T> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const crashed = (cause: unknown): void =>
    reject(
      new CalculationError(
        "thread-crashed",
        `${what}: an error that nothing awaits: ${messageOf(cause)}${placeOf(cause)}`,
        { cause },
      ),
    );
  const idle = (): void =>
    reject(new CalculationError("never-settled", `${what}: it awaits a promise that nothing settles`));
  const left = (code: number): void => {
    // Those from 128 on are of signals.
    if (code >= 128) return;
    writeSync(2, `leasefold: ${what}: the calculation ended its process: process.exit(${code})\n`);
    process.exitCode = calculationFailed;
  };
  process.on("uncaughtException", crashed).on("beforeExit", idle).on("exit", left);
  try {
    const value = await Promise.race([run(), ended]);
    // A rejection that nothing handles is told of after the turn in which it was made.
    await Promise.race([new Promise((turned) => setImmediate(turned)), ended]);
    return value;
  } finally {
    process.off("uncaughtException", crashed).off("beforeExit", idle).off("exit", left);
  }
}

/** One step into, from where this stops, is the user's code. */
const stopping = (calculation: AnyCalculation): AnyCalculation => ({
  ...calculation,
  compute(chunk) {
    // biome-ignore lint/suspicious/noDebugger: whoever asked for it has attached a debugger.
    debugger;
    return calculation.compute(chunk);
  },
});

/** Writes the profile also of a call that throws. */
async function profiled<T>(path: string, run: () => Promise<T>): Promise<T> {
  const session = new inspector.Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.start");
  try {
    return await run();
  } finally {
    const { profile } = await session.post("Profiler.stop");
    session.disconnect();
    await writeFile(path, JSON.stringify(profile));
  }
}

function timedFiles(access: FileAccess, clock: Clock) {
  let [open, sinceMs, spentMs, bytes] = [0, 0, 0, 0];
  const timed = async <T>(call: Promise<T>): Promise<T> => {
    if (open === 0) sinceMs = clock.monotonicMs();
    open += 1;
    try {
      return await call;
    } finally {
      open -= 1;
      if (open === 0) spentMs += clock.monotonicMs() - sinceMs;
    }
  };
  return {
    access: {
      list: (...asked: Parameters<FileAccess["list"]>) => timed(access.list(...asked)),
      read: async (...asked: Parameters<FileAccess["read"]>) => {
        const piece = await timed(access.read(...asked));
        bytes += piece.length;
        return piece;
      },
    },
    spentMs: () => spentMs,
    bytes: () => bytes,
  };
}
