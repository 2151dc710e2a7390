import pMap, { pMapSkip } from "p-map";
import type { AttemptTime } from "../../contract.ts";
import type { FileFact } from "../../files.ts";
import { aggregateLimits } from "../limits.ts";
import { type Opening, openQuickly } from "./openFile.ts";
import { fileFormat } from "./readParams.ts";
import { bordersOf, type Section, sectionsOf } from "./sections.ts";

const { headsAtOnce, looksAtOnce, filesHeld, planSlowest } = aggregateLimits;

/** What a plan has to read, counted from the list of its files. */
export interface Survey {
  readonly files: number;
  readonly bytes: number;
  /** Headers to read. */
  readonly heads: number;
  /** Sections whose borders must be found, and the bytes of their files. */
  readonly looks: number;
  readonly bytesToScan: number;
  /** The list has more than was counted in the time for it. */
  readonly more: boolean;
  /** All files, in order, if they are few. */
  readonly held?: readonly FileFact[];
  readonly someHeads: readonly FileFact[];
  readonly someLooks: readonly Section[];
}

/** Counts while `goOn` is true, but no fewer than `filesHeld` files. Throws `CalculationError` for a file of unknown format. */
export async function surveyed({ params, files }: Opening, goOn: () => boolean): Promise<Survey> {
  const heads = spreadSample<FileFact>();
  const looks = spreadSample<Section>();
  const held: FileFact[] = [];
  let [count, bytes, bytesToScan] = [0, 0, 0];
  let more = false;
  for await (const file of files.list(params.source)) {
    more = count >= filesHeld && !goOn();
    if (more) break;
    count += 1;
    bytes += file.bytes;
    if (count <= filesHeld) held.push(file);
    if (file.bytes === 0) continue;
    const format = fileFormat(file.path, params);
    if (format.kind === "csv") heads.add(file);
    const before = looks.count();
    for (const section of sectionsOf({ file, format, first: 0 }, params))
      if (section.quoted) looks.add(section);
    if (looks.count() > before) bytesToScan += file.bytes;
  }
  return {
    ...{ files: count, bytes, bytesToScan, more, heads: heads.count(), looks: looks.count() },
    ...{ someHeads: heads.items(), someLooks: looks.items() },
    ...(more || count > filesHeld ? {} : { held }),
  };
}

/** Whether even slow storage lets the plan end in this time, so that nothing must be measured. */
export const fitsAnyway = ({ heads, bytesToScan, more }: Survey, limitMs: number): boolean =>
  !more && heads / planSlowest.headsPerS + bytesToScan / planSlowest.bytesPerS <= limitMs / 1000;

/**
 * The least time in ms that the plan will take, by samples of headers and borders, each taken while its `timeBox` is open.
 * Both are read side by side.
 */
export async function leastMs(
  { heads, looks, someHeads, someLooks }: Survey,
  opening: Opening & { readonly time: AttemptTime },
  timeBox: () => () => boolean,
): Promise<number> {
  const { files, time } = opening;
  /** What fails here fails again, with its reason, when it is its turn. */
  const timed = async <T>(items: readonly T[], concurrency: number, run: (item: T) => Promise<unknown>) => {
    const isOpen = timeBox();
    const mapper = async (item: T) => {
      if (!isOpen()) return pMapSkip;
      const startedMs = time.spentMs();
      await run(item).catch(() => {});
      return time.spentMs() - startedMs;
    };
    return leastMean(await pMap(items, mapper, { concurrency })) / concurrency;
  };
  const headMs = await timed(someHeads, headsAtOnce, (file) => openQuickly(file, opening));
  const lookMs = await timed(someLooks, looksAtOnce, (section) => bordersOf(section, files));
  return Math.max(heads * headMs, looks * lookMs);
}

/** The mean less three standard errors: the true mean is hardly ever below. Few values tell nothing. */
function leastMean(values: readonly number[]): number {
  const { length } = values;
  if (length < samplesMin) return 0;
  const mean = values.reduce((sum, value) => sum + value, 0) / length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (length - 1);
  return Math.max(0, mean - 3 * Math.sqrt(variance / length));
}

const samplesMin = 8;
const samplesMax = 32;

/** Keeps 16 to 32 items spread evenly over all that are added. */
function spreadSample<T>() {
  let kept: T[] = [];
  let count = 0;
  let every = 1;
  return {
    add(item: T): void {
      if (count++ % every !== 0) return;
      kept.push(item);
      if (kept.length <= samplesMax) return;
      kept = kept.filter((_, index) => index % 2 === 0);
      every *= 2;
    },
    count: () => count,
    items: (): readonly T[] => kept,
  };
}
