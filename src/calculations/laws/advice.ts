import { CalculationError } from "../../model/errors.ts";
import { calculationLimits } from "../../model/limits.ts";
import { runFinish } from "../runJob.ts";
import type { Finding } from "./findings.ts";
import { foldedBytes } from "./partialLaws.ts";
import type { Subject } from "./subject.ts";

type Advice = Extract<Finding, { outcome: "advice" }>;

/** Below this a chunk is mostly the cost of calling it; beyond the other one a pack may not end in time. */
const chunkMsMin = 0.1;
const packLimitMsDefault = 300_000;

export async function adviceOn(
  subject: Subject,
  limits: { readonly packLimitMs?: number; readonly heapBytesMax?: number },
): Promise<readonly Advice[]> {
  const advice: Advice[] = [];
  const say = (law: Advice["law"], text: string): void => void advice.push({ law, outcome: "advice", text });
  const empty = await emptyRun(subject);
  if (empty !== undefined) say("empty", empty);
  const growth = await growthOf(subject);
  if (growth !== undefined) say("growth", growth);
  const time = timeOf(subject, limits.packLimitMs ?? packLimitMsDefault);
  if (time !== undefined) say("time", time);
  const heap = subject.options.heapBytes?.() ?? 0;
  if (limits.heapBytesMax !== undefined && heap > limits.heapBytesMax / 2) {
    const [taken, may] = [heap, limits.heapBytesMax].map((bytes) => `${Math.round(bytes / 1e6)} MB`);
    say("memory", `the thread took ${taken} and may take ${may} (LEASEFOLD_THREAD_MEMORY_MB)`);
  }
  return advice;
}

/** A plan may come out empty, and an answer so far may be asked for before the first chunk is done. */
async function emptyRun({ calculation, params, count }: Subject): Promise<string | undefined> {
  try {
    await runFinish(calculation, { params, parts: [], folded: 0, count });
    return undefined;
  } catch (error) {
    if (!(error instanceof CalculationError)) throw error;
    return `a run of no chunks has no result: ${error.message}`;
  }
}

/** Partials that get longer with every chunk reach the limit with enough of them. */
async function growthOf(subject: Subject): Promise<string | undefined> {
  const { partials } = subject;
  const chunks = partials.length;
  if (chunks < 8) return undefined;
  const half = Math.floor(chunks / 2);
  const [some, all] = [
    await foldedBytes(subject, partials.slice(0, half)),
    await foldedBytes(subject, partials),
  ];
  const mean = partials.reduce((sum, { length }) => sum + length, 0) / chunks;
  const each = (all.length - some.length) / (chunks - half);
  if (each < mean / 4 || all.length < 4 * mean) return undefined;
  const reach = Math.floor(calculationLimits.partialBytesMax / each);
  const then = reach < subject.count ? "fewer than this run has" : "more than this run has";
  return `merged partials grow by ${Math.ceil(each)} bytes a chunk; 32 MB hold about ${reach.toLocaleString("en-US")}, ${then}`;
}

function timeOf({ chunkMs }: Subject, packLimitMs: number): string | undefined {
  if (chunkMs === undefined) return undefined;
  if (chunkMs < chunkMsMin) {
    return `a chunk takes ${(chunkMs * 1000).toPrecision(2)} µs: give each more work, about 1 to 1,000 ms`;
  }
  if (chunkMs <= packLimitMs / 4) return undefined;
  const seconds = `${Math.round(chunkMs / 1000)} s`;
  return `a chunk takes ${seconds}, and a pack may take ${packLimitMs / 1000} s: make smaller chunks`;
}
