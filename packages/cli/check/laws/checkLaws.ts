import type { AnyCalculation, ResultBytes } from "../../../../src/engine/calculation/contract.ts";
import { CalculationError, failRunCode, laterCode } from "../../../../src/engine/model/errors.ts";
import { adviceOn } from "./advice.ts";
import { computeLaw, thrownBreach } from "./computeLaw.ts";
import { broken, type Finding, type LawName, laws, type Verdict } from "./findings.ts";
import { codecLaw, finishLaw, mergeLaw, sizeLaw, tooLarge } from "./foldLaws.ts";
import { inputsLaw, paramsLaw, planLaw, throughJson } from "./inputLaws.ts";
import { type LawOptions, type Subject, subjectOf } from "./subject.ts";

export interface CheckOptions extends LawOptions {
  readonly packLimitMs?: number;
  readonly onFinding?: (finding: Finding) => void;
}

export interface Checked {
  readonly findings: readonly Finding[];
  /** Chunks of the whole run, and how many of the first ones the laws were checked on. */
  readonly count: number;
  readonly chunks: number;
  /** Of these, how many threw: the laws were checked on the others. */
  readonly threw: number;
  readonly chunkMs: number | undefined;
  /** Of those chunks, in one thread; absent if a law is broken otherwise than by chunks that throw. */
  readonly result: ResultBytes | undefined;
}

const checks: Record<LawName, (subject: Subject, parsed: unknown) => Promise<Verdict>> = {
  params: paramsLaw,
  plan: planLaw,
  inputs: inputsLaw,
  compute: computeLaw,
  codec: codecLaw,
  merge: mergeLaw,
  size: sizeLaw,
  finish: finishLaw,
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
  const tell = (finding: Finding): void => {
    findings.push(finding);
    options.onFinding?.(finding);
  };
  let breached: LawName | undefined;
  for (const law of Object.keys(laws) as LawName[]) {
    if (breached !== undefined) {
      if (law !== breached) tell({ law, outcome: "unchecked", why: `needs: ${laws[breached]}` });
      continue;
    }
    const startedMs = options.clock?.monotonicMs() ?? 0;
    const { at, verdict } = await checks[law](subject, params).then(
      (verdict) => ({ at: law, verdict }),
      (error: unknown) => violationOf(law, error),
    );
    const ms = options.clock === undefined ? {} : { ms: options.clock.monotonicMs() - startedMs };
    const thrown = law === "compute" ? thrownBreach(subject) : undefined;
    if (thrown !== undefined) tell({ law, outcome: "broken", breach: thrown, ...ms });
    if (thrown !== undefined && subject.partials.size === 0) breached = law;
    else if (thrown !== undefined && "tried" in verdict) continue;
    else if ("tried" in verdict) tell({ law, outcome: "holds", tried: verdict.tried, ...ms });
    else if ("unchecked" in verdict) tell({ law, outcome: "unchecked", why: verdict.unchecked });
    else {
      breached = at;
      tell({ law: at, outcome: "broken", breach: verdict.breach, ...ms });
      if (at !== law) tell({ law, outcome: "unchecked", why: `needs: ${laws[at]}` });
    }
  }
  const { count, tried: chunks, partials, chunkMs } = subject;
  const known = { count, chunks, threw: chunks - partials.size, chunkMs };
  if (breached !== undefined) return { findings, ...known, result: undefined };
  for (const advice of await adviceOn(subject, options.packLimitMs)) tell(advice);
  return { findings, ...known, result: subject.result };
}

/** The laws that a calculation breaks, for a test of its author's: the list should be empty. */
export async function brokenLaws(
  calculation: AnyCalculation,
  params: unknown,
  options: LawOptions = {},
): Promise<readonly string[]> {
  const { findings } = await checkLaws(calculation, params, options);
  return findings.flatMap((one) =>
    one.outcome === "broken" ? [`${laws[one.law]}: ${one.breach.example}; ${one.breach.likely}`] : [],
  );
}

const refused = "it returns what the contract does not allow, so no attempt succeeds";
const planCure = "return a whole number of chunks, or a list of inputs that are JSON of at most 64 KB";
const resultCure = "return JSON without NaN and Infinity, or { body, contentType, extension }";
const partialCure = "return finite numbers, text, lists and plain objects, or give the calculation a codec";

/** The law that an error of `runJob` breaks, whichever was checked, its likely cause and what to do. */
const violations: Readonly<Record<string, readonly [law: LawName, likely: string, cure: string]>> = {
  "bad-plan": ["plan", refused, planCure],
  "too-many-chunks": ["plan", refused, planCure],
  "input-too-large": ["inputs", refused, planCure],
  "not-bytes": ["codec", refused, "return a Uint8Array with all bytes of the partial"],
  "partial-too-large": ["size", ...tooLarge],
  "bad-result": ["finish", refused, resultCure],
  "bad-stop": ["finish", refused, "return true or false"],
  "result-too-large": ["finish", refused, "return a summary, or split the work into runs with a result each"],
};

function violationOf(law: LawName, error: unknown): { at: LawName; verdict: Verdict } {
  if (!(error instanceof CalculationError)) throw error;
  const { code, message } = error;
  const ends = law === "plan" || law === "finish" ? "the run" : "the pack";
  const [at, likely, cure] =
    (code === "not-json" ? notJson(message) : violations[code]) ??
    asked(law, error) ??
    (code === "calculation-threw"
      ? [
          law,
          "your code threw",
          `a failing call is retried on other workers and finally fails ${ends}: throw only if there is no answer`,
        ]
      : [
          law,
          "it cannot work on this data",
          "a check needs a run that works: give other parameters, or correct the data",
        ]);
  return { at, verdict: broken(message, likely, cure) };
}

/** What code asks for a run to do is no answer for a check. */
function asked(law: LawName, { code, details }: CalculationError): (typeof violations)[string] | undefined {
  const cure = "a check needs a run that works: give other parameters, or data that is there";
  if (code === failRunCode) return [law, "your code ends its run (failRun)", cure];
  if (code !== laterCode) return undefined;
  return [law, `your code asks to be tried again in ${details["laterS"]} s (retryLater)`, cure];
}

function notJson(message: string): (typeof violations)[string] {
  if (message.startsWith("the input")) return ["inputs", refused, planCure];
  return message.startsWith("the result") ? ["finish", refused, resultCure] : ["codec", refused, partialCure];
}

/** Parameters that JSON cannot encode stay as they are: their own law reports them. */
function jsonOr(params: unknown): unknown {
  try {
    return throughJson(params);
  } catch {
    return params;
  }
}
