import type { Result } from "../../../../src/engine/calculation/contract.ts";
import { jsonLosses, resultBytes } from "../../../../src/engine/calculation/encodePart.ts";
import { runFinish } from "../../../../src/engine/calculation/runJob.ts";
import { CalculationError } from "../../../../src/engine/model/errors.ts";
import { calculationLimits } from "../../../../src/engine/model/limits.ts";
import type { Advice } from "./findings.ts";
import { decoded, type Subject } from "./subject.ts";

/** A shorter chunk is mostly the overhead of calling it. */
const chunkMsMin = 0.1;
const packLimitMsDefault = 300_000;

export async function adviceOn(
  subject: Subject,
  packLimitMs = packLimitMsDefault,
): Promise<readonly Advice[]> {
  const said: Readonly<Partial<Record<Advice["law"], string | undefined>>> = {
    empty: await emptyRun(subject),
    result: await changedInResult(subject),
    growth: growthOf(subject),
    time: timeOf(subject, packLimitMs),
  };
  return Object.entries(said).flatMap(([law, text]) =>
    text === undefined ? [] : [{ law: law as Advice["law"], outcome: "advice", text }],
  );
}

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
  const { calculation, params, count, partials, nodes } = subject;
  const root = nodes.at(-1);
  if (root === undefined) return undefined;
  const part = await decoded(subject, root.bytes);
  const { finish = (only: unknown) => only as Result } = calculation;
  const result = await finish.call(calculation, part, { params, folded: partials.size, count });
  if (resultBytes(result) !== undefined) return undefined;
  const [loss, ...more] = jsonLosses(result);
  if (loss === undefined) return undefined;
  const others = more.length === 0 ? "" : `, and ${more.length} more values change`;
  return `${loss.path || "it"} is ${loss.was}, which becomes ${loss.becomes}${others}: return what you mean`;
}

const short = (seconds: number): string => String(Number(seconds.toPrecision(2)));

/** What a few sums may grow to by their digits alone. */
const digitsBytes = 128;

/** Partials that grow with every chunk reach the limit if there are enough chunks. */
function growthOf({ tried, partials, nodes, count }: Subject): string | undefined {
  const chunks = 2 ** (31 - Math.clz32(tried));
  const sizeTo = (to: number) => nodes.find((node) => node.from === 0 && node.to === to)?.bytes.length;
  const [half, all] = [sizeTo(chunks / 2), sizeTo(chunks)];
  if (chunks < 8 || half === undefined || all === undefined) return undefined;
  const mean = [...partials.values()].reduce((sum, { length }) => sum + length, 0) / partials.size;
  const each = (all - half) / (chunks / 2);
  if (each < mean / 4 || all < Math.max(4 * mean, digitsBytes)) return undefined;
  const reach = Math.floor(calculationLimits.partialBytesMax / each);
  const compared = reach < count ? "fewer" : "more";
  return `merged partials grow by ${Math.ceil(each)} bytes a chunk; 32 MB hold about ${reach.toLocaleString("en-US")}, ${compared} than this run has`;
}

/** Chunks that wait for so much of their time, and take so long in all, are worth computing at the same time. */
const waitsMin = 0.8;
const concurrencyAdvised = 32;
const worthMs = 10_000;

/** What a calculation gains whose chunks are computed one after the other and mostly wait; `waits`: share of a chunk's time. */
export function adviceOnWaits(of: {
  readonly chunkMs: number;
  readonly waits: number;
  readonly chunks: number;
}): string | undefined {
  const { chunkMs, waits, chunks } = of;
  const allMs = chunkMs * chunks;
  if (waits < waitsMin || allMs < worthMs) return undefined;
  const [now, then] = [allMs, allMs / Math.min(concurrencyAdvised, chunks)].map((ms) => short(ms / 1_000));
  return `a chunk waits for ${Math.round(100 * Math.min(waits, 1))} % of its time: concurrency: ${concurrencyAdvised} would take ${then} s on one thread instead of ${now} s`;
}

function timeOf(
  { chunkMs, waits = 0, count, calculation }: Subject,
  packLimitMs: number,
): string | undefined {
  if (chunkMs === undefined) return undefined;
  if ((calculation.concurrency ?? 1) === 1) {
    const advice = adviceOnWaits({ chunkMs, waits, chunks: count });
    if (advice !== undefined) return advice;
  }
  if (chunkMs < chunkMsMin) {
    return `a chunk takes ${(chunkMs * 1000).toPrecision(2)} µs: give each more work, about 1 to 1,000 ms`;
  }
  if (chunkMs <= packLimitMs / 4) return undefined;
  return `a chunk takes ${Math.round(chunkMs / 1000)} s, and a pack may take ${packLimitMs / 1000} s: make smaller chunks`;
}
