import { CalculationError } from "../../../model/errors.ts";
import type { FileFact } from "../../files.ts";
import { aggregateLimits } from "../limits.ts";
import type { Opening } from "./openFile.ts";
import { fitsAnyway, leastMs, type Survey, surveyed } from "./planSurvey.ts";
import { withoutNewlines } from "./readParams.ts";

const { planMeasureMs } = aggregateLimits;

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
