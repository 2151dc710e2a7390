import { CalculationError } from "../../model/errors.ts";
import { calculationLimits } from "../../model/limits.ts";
import type { Result } from "../contract.ts";
import { jsonLosses, resultBytes } from "../encodePart.ts";
import { runFinish } from "../runJob.ts";
import type { Finding } from "./findings.ts";
import { orderedMerge } from "./mergeLaws.ts";
import { foldedBytes } from "./partialLaws.ts";
import { decoded, type Subject } from "./subject.ts";

type Advice = Extract<Finding, { outcome: "advice" }>;

/** A shorter chunk is mostly the overhead of calling it. */
const chunkMsMin = 0.1;
const packLimitMsDefault = 300_000;

export async function adviceOn(
  subject: Subject,
  limits: { readonly packLimitMs?: number; readonly heapBytesMax?: number },
): Promise<readonly Advice[]> {
  const advice: Advice[] = [];
  const say = (law: Advice["law"], text: string): void => void advice.push({ law, outcome: "advice", text });
  const ordered = await orderedMerge(subject);
  if (ordered !== undefined) say("order", `(a·b)·c is not a·(b·c), ${ordered}: ${orderIsFine}`);
  const empty = await emptyRun(subject);
  if (empty !== undefined) say("empty", empty);
  const changed = await changedInResult(subject);
  if (changed !== undefined) say("result", changed);
  const growth = await growthOf(subject);
  if (growth !== undefined) say("growth", growth);
  const time = timeOf(subject, limits.packLimitMs ?? packLimitMsDefault);
  if (time !== undefined) say("time", time);
  const heap = subject.options.heapBytes?.() ?? 0;
  const { heapBytesMax = Number.POSITIVE_INFINITY } = limits;
  const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;
  if (heap > heapBytesMax / 2) {
    const limit = `${megabytes(heapBytesMax)} (LEASEFOLD_THREAD_MEMORY_MB)`;
    say("memory", `the thread used ${megabytes(heap)} of heap; its limit is ${limit}`);
  }
  return advice;
}

const orderIsFine =
  "your merge depends on the order of joining; that is fine here, because chunk indices alone fix that order";

/** A plan may be empty, and a result so far may be requested before the first chunk is done. */
async function emptyRun({ calculation, params, count }: Subject): Promise<string | undefined> {
  try {
    await runFinish(calculation, { params, parts: [], folded: 0, count });
    return undefined;
  } catch (error) {
    if (!(error instanceof CalculationError)) throw error;
    return `a run of no chunks has no result: ${error.message}`;
  }
}

/** A Date in a result may be meant as text, but who reads the result gets no Date. */
async function changedInResult(subject: Subject): Promise<string | undefined> {
  const { calculation, params, count, partials } = subject;
  if (partials.length === 0) return undefined;
  const part = await decoded(subject, await foldedBytes(subject, partials));
  const { finish = (only: unknown) => only as Result } = calculation;
  const result = await finish.call(calculation, part, { params, folded: partials.length, count });
  if (resultBytes(result) !== undefined) return undefined;
  const [loss, ...more] = jsonLosses(result);
  if (loss === undefined) return undefined;
  const others = more.length === 0 ? "" : `, and ${more.length} more values change`;
  return `${loss.path || "it"} is ${loss.was}, which becomes ${loss.becomes}${others}: return what you mean`;
}

/** What a few sums may grow to by their digits alone. */
const digitsBytes = 128;

/** Partials that grow with every chunk reach the limit if there are enough chunks. */
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
  if (each < mean / 4 || all.length < Math.max(4 * mean, digitsBytes)) return undefined;
  const reach = Math.floor(calculationLimits.partialBytesMax / each);
  const compared = reach < subject.count ? "fewer" : "more";
  return `merged partials grow by ${Math.ceil(each)} bytes a chunk; 32 MB hold about ${reach.toLocaleString("en-US")}, ${compared} than this run has`;
}

function timeOf({ chunkMs }: Subject, packLimitMs: number): string | undefined {
  if (chunkMs === undefined) return undefined;
  if (chunkMs < chunkMsMin) {
    return `a chunk takes ${(chunkMs * 1000).toPrecision(2)} µs: give each more work, about 1 to 1,000 ms`;
  }
  if (chunkMs <= packLimitMs / 4) return undefined;
  return `a chunk takes ${Math.round(chunkMs / 1000)} s, and a pack may take ${packLimitMs / 1000} s: make smaller chunks`;
}
