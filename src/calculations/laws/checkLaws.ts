import { CalculationError } from "../../model/errors.ts";
import type { AnyCalculation, ResultBytes } from "../contract.ts";
import { adviceOn } from "./advice.ts";
import { computeLaw, stateLaw } from "./computeLaws.ts";
import { broken, type Finding, type LawName, laws, type Verdict } from "./findings.ts";
import { finishLaw, packsLaw, serialResult } from "./foldLaws.ts";
import { inputsLaw, paramsLaw, planLaw, throughJson } from "./inputLaws.ts";
import { argumentsLaw } from "./mergeLaws.ts";
import { codecLaw, sizeLaw, tooLarge } from "./partialLaws.ts";
import { type LawOptions, type Subject, subjectOf } from "./subject.ts";

export interface CheckOptions extends LawOptions {
  readonly packLimitMs?: number;
  readonly heapBytesMax?: number;
  /** Called before a law is checked. */
  readonly onLaw?: (law: LawName) => void;
  readonly onFinding?: (finding: Finding) => void;
}

export interface Checked {
  readonly findings: readonly Finding[];
  /** Chunks of the whole run, and how many of the first ones the laws were checked on. */
  readonly count: number;
  readonly chunks: number;
  readonly chunkMs: number | undefined;
  /** Of those chunks, in one thread; absent if a law is broken. */
  readonly result: ResultBytes | undefined;
}

const checks: Record<LawName, (subject: Subject, parsed: unknown) => Promise<Verdict>> = {
  params: paramsLaw,
  plan: planLaw,
  inputs: inputsLaw,
  compute: computeLaw,
  state: stateLaw,
  codec: codecLaw,
  arguments: argumentsLaw,
  size: sizeLaw,
  finish: finishLaw,
  packs: packsLaw,
};

/**
 * Checks on samples the laws that make a calculation's result independent of the number of workers. `params` are as
 * its schema gives them. A breach that is found is real; a breach may exist that is not found.
 *
 * Never throws for what the calculation does. Does not return if a call of the calculation never returns.
 */
export async function checkLaws(
  calculation: AnyCalculation,
  params: unknown,
  options: CheckOptions = {},
): Promise<Checked> {
  const subject = subjectOf(calculation, jsonOr(params), options);
  const findings: Finding[] = [];
  /** Laws that are broken, or need a broken one. */
  const stuck = new Set<LawName>();
  const settled = new Set<LawName>();
  const tell = (finding: Finding): void => {
    if (finding.outcome !== "advice") settled.add(finding.law);
    if (finding.outcome === "broken") stuck.add(finding.law);
    findings.push(finding);
    options.onFinding?.(finding);
  };
  const tellUnchecked = (law: LawName, needed: LawName): void => {
    stuck.add(law);
    tell({ law, outcome: "unchecked", why: `needs: ${laws[needed].says}` });
  };
  const { clock } = options;
  for (const law of Object.keys(laws) as LawName[]) {
    if (settled.has(law)) continue;
    const needed = laws[law].needs.find((other) => stuck.has(other));
    if (needed !== undefined) {
      tellUnchecked(law, needed);
      continue;
    }
    options.onLaw?.(law);
    const startedMs = clock?.monotonicMs() ?? 0;
    const { at, verdict } = await checks[law](subject, params).then(
      (verdict) => ({ at: law, verdict }),
      (error: unknown) => violationOf(law, error),
    );
    const ms = clock === undefined ? {} : { ms: clock.monotonicMs() - startedMs };
    if ("breach" in verdict) tell({ law: at, outcome: "broken", breach: verdict.breach, ...ms });
    else if ("unchecked" in verdict) tell({ law, outcome: "unchecked", why: verdict.unchecked });
    else tell({ law, outcome: "holds", tried: verdict.tried, ...ms });
    if (at !== law) tellUnchecked(law, at);
  }
  const sound = findings.every(({ outcome }) => outcome !== "broken");
  if (sound) for (const advice of await adviceOn(subject, options)) tell(advice);
  return {
    findings,
    count: subject.count,
    chunks: subject.partials.length,
    chunkMs: subject.chunkMs,
    result: sound ? await serialResult(subject) : undefined,
  };
}

/** The laws that a calculation breaks, for a test of its author's: the list should be empty. */
export async function brokenLaws(
  calculation: AnyCalculation,
  params: unknown,
  options: LawOptions = {},
): Promise<readonly string[]> {
  const { findings } = await checkLaws(calculation, params, options);
  return findings.flatMap((one) =>
    one.outcome === "broken" ? [`${laws[one.law].says}: ${one.breach.example}; ${one.breach.likely}`] : [],
  );
}

/** Some errors say which law is broken, whichever was checked. */
const lawOfCode: Readonly<Record<string, LawName>> = {
  "bad-plan": "plan",
  "input-too-large": "inputs",
  "too-many-chunks": "plan",
  "partial-too-large": "size",
  "not-bytes": "codec",
};

/** The law that an error breaks, and the reason. */
function violationOf(law: LawName, error: unknown): { at: LawName; verdict: Verdict } {
  if (!(error instanceof CalculationError)) throw error;
  const at =
    lawOfCode[error.code] ?? (law !== "finish" && error.code === "not-json" ? notJsonLaw(error) : law);
  if (at === "size") return { at, verdict: broken(error.message, tooLarge.likely, tooLarge.cure) };
  const violation = (likely: string, cure: string) => ({ at, verdict: broken(error.message, likely, cure) });
  if (contractCodes.has(error.code)) {
    return violation(
      "it returns what the contract does not allow, so no attempt succeeds",
      cureOf(at, error.code),
    );
  }
  if (error.code === "calculation-threw") {
    const ends = at === "plan" || at === "finish" ? "the run" : "the pack";
    return violation(
      "your code threw",
      `a failing call is retried on other workers and finally fails ${ends}: throw only if there is no answer`,
    );
  }
  return violation(
    "it cannot work on this data",
    "a check needs a run that works: give other parameters, or correct the data",
  );
}

/** Codes of `runJob` for values that user code must not return. */
const contractCodes = new Set([
  "bad-plan",
  "input-too-large",
  "too-many-chunks",
  "not-json",
  "not-bytes",
  "bad-result",
  "result-too-large",
]);

function notJsonLaw({ message }: CalculationError): LawName {
  if (message.startsWith("the input")) return "inputs";
  return message.startsWith("the result") ? "finish" : "codec";
}

function cureOf(law: LawName, code: string): string {
  if (code === "not-bytes") return "return a Uint8Array with all bytes of the partial";
  if (law === "plan" || law === "inputs")
    return "return a whole number of chunks, or a list of inputs that are JSON of at most 64 KB";
  if (code === "result-too-large") return "return a summary, or split the work into runs with a result each";
  if (law === "finish") return "return JSON without NaN and Infinity, or { body, contentType, extension }";
  return "return finite numbers, text, lists and plain objects, or give the calculation a codec";
}

/** Parameters that JSON cannot encode stay as they are: their own law reports them. */
function jsonOr(params: unknown): unknown {
  try {
    return throughJson(params);
  } catch {
    return params;
  }
}
