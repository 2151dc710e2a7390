import pMap, { pMapSkip } from "p-map";
import { CalculationError } from "../../../model/errors.ts";
import type { AttemptTime } from "../../contract.ts";
import type { FileFact } from "../../files.ts";
import { aggregateLimits } from "../limits.ts";
import { type Opening, openQuickly } from "./openFile.ts";
import { fileFormat, withoutNewlines } from "./readParams.ts";
import { bordersOf, type Section, sectionsOf } from "./sections.ts";

const { headsAtOnce, looksAtOnce, filesHeld, planMeasureMs, planSlowest } = aggregateLimits;

/**
 * Runs a plan under the time limit of its attempt. One that would take more than twice that time is refused within
 * seconds, for good; one that only runs out of time is ended just before the limit, and another attempt may be quicker.
 * Both errors say what to do.
 *
 * Not promised: that each plan that is too long is refused. A sample of its reads must leave no doubt.
 */
export async function* inTime<T>(
  opening: Opening,
  plan: (opening: Opening) => AsyncGenerator<T>,
): AsyncGenerator<T> {
  const { time } = opening;
  if (time === undefined) return yield* plan(opening);
  const { limitMs, spentMs, ending } = time;
  const stepMs = Math.min(planMeasureMs, limitMs / 10);
  /** A function that is true from now on for so long. */
  const timeBox = () => {
    const untilMs = spentMs() + stepMs;
    return () => spentMs() < untilMs;
  };
  const survey = await surveyed(opening, timeBox());
  const late = rejectionOf(
    ending,
    () => new CalculationError("time-limit", outOfTime(survey, opening, limitMs)),
  );
  const { held } = survey;
  const files = held === undefined ? opening.files : { ...opening.files, list: () => inOrder(held) };
  const planned = plan({ ...opening, files });
  try {
    if (!fitsAnyway(survey, limitMs)) {
      const ms = await Promise.race([leastMs(survey, { ...opening, time }, timeBox), late.promise]);
      if (ms > 2 * limitMs)
        throw new CalculationError("plan-too-long", tooLong(survey, opening, limitMs, ms));
    }
    for (;;) {
      const next = await Promise.race([planned.next(), late.promise]);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    late.letGo();
    // It may wait for a read that never ends.
    void planned.return(undefined).catch(() => {});
  }
}

/** A promise that rejects with this error when the signal fires, unless it is let go before. */
function rejectionOf(signal: AbortSignal, error: () => Error) {
  const letGo = new AbortController();
  const promise = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(error());
    signal.addEventListener("abort", () => reject(error()), { once: true, signal: letGo.signal });
  });
  promise.catch(() => {});
  return { promise, letGo: () => letGo.abort() };
}

async function* inOrder(files: readonly FileFact[]): AsyncGenerator<FileFact> {
  yield* files;
}

const outOfTime = (survey: Survey, opening: Opening, limitMs: number): string =>
  `${sizeText(survey, opening)}: not planned within the time limit of ${secondsText(limitMs)}; ${cureOf(survey)}`;

const tooLong = (survey: Survey, opening: Opening, limitMs: number, leastMs: number): string =>
  `${sizeText(survey, opening)}: a plan takes at least ${secondsText(rounded(leastMs))}, by the time of a sample of its reads, and the ` +
  `time limit is ${secondsText(limitMs)}; ${cureOf(survey)}`;

function sizeText({ files, bytes, more }: Survey, { params }: Opening): string {
  const [unit, name] = bytes < 1e9 ? [1e6, "MB"] : [1e9, "GB"];
  const count = `${more ? "more than " : ""}${files.toLocaleString("en-US")} file${files === 1 ? "" : "s"}`;
  return `${params.source}, ${count} of ${Math.ceil(bytes / unit).toLocaleString("en-US")} ${name}`;
}

const secondsText = (ms: number): string => `${(ms / 1000).toLocaleString("en-US")} s`;

const rounded = (ms: number): number => Number(ms.toPrecision(2));

function cureOf({ looks }: Survey): string {
  const others = "raise LEASEFOLD_PACK_LIMIT_S (and --pack-limit), or start one run for each longer prefix";
  return looks === 0
    ? others
    : `${withoutNewlines} promises that no field holds a line break and saves most of it; or ${others}`;
}

/** What a plan has to read, counted from the list of its files. */
interface Survey {
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
async function surveyed({ params, files }: Opening, goOn: () => boolean): Promise<Survey> {
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
const fitsAnyway = ({ heads, bytesToScan, more }: Survey, limitMs: number): boolean =>
  !more && heads / planSlowest.headsPerS + bytesToScan / planSlowest.bytesPerS <= limitMs / 1000;

/**
 * The least time in ms that the plan will take, by samples of headers and borders, each taken while its `timeBox` is open.
 * Both are read side by side.
 */
async function leastMs(
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
