import { CalculationError } from "../../model/errors.ts";
import type { AnyCalculation, ResultBytes } from "../contract.ts";
import { adviceOn } from "./advice.ts";
import { computeLaw, stateLaw } from "./computeLaws.ts";
import { broken, type Finding, type LawName, laws, type Verdict } from "./findings.ts";
import { finishLaw, packsLaw, serialResult } from "./foldLaws.ts";
import { inputsLaw, paramsLaw, planLaw, throughJson } from "./inputLaws.ts";
import { argumentsLaw, associativeLaw, zeroLaw } from "./mergeLaws.ts";
import { codecLaw, sizeLaw, tooLarge } from "./partialLaws.ts";
import { type LawOptions, type Subject, subjectOf } from "./subject.ts";

export interface CheckOptions extends LawOptions {
  readonly packLimitMs?: number;
  readonly heapBytesMax?: number;
  /** Before a law is tried, and when it is settled. */
  readonly onLaw?: (law: LawName) => void;
  readonly onFinding?: (finding: Finding) => void;
}

export interface Checked {
  readonly findings: readonly Finding[];
  /** Chunks of the whole run, and how many of the first ones the laws were tried on. */
  readonly count: number;
  readonly chunks: number;
  readonly chunkMs: number | undefined;
  /** Of those chunks, in one thread; absent where a law is broken. */
  readonly result: ResultBytes | undefined;
}

const attempts: Record<LawName, (subject: Subject, parsed: unknown) => Promise<Verdict>> = {
  params: paramsLaw,
  plan: planLaw,
  inputs: inputsLaw,
  compute: computeLaw,
  state: stateLaw,
  codec: codecLaw,
  arguments: argumentsLaw,
  size: sizeLaw,
  zero: zeroLaw,
  merge: associativeLaw,
  finish: finishLaw,
  packs: packsLaw,
};

/**
 * Tries on samples whether a calculation keeps the laws by which its result is the same on any number of workers.
 * `params` are as its schema gives them. What was not found may still be wrong; what was found is wrong.
 *
 * Never throws for what the calculation does; a call of it that never returns is never returned from.
 */
export async function checkLaws(
  calculation: AnyCalculation,
  params: unknown,
  options: CheckOptions = {},
): Promise<Checked> {
  const subject = subjectOf(calculation, jsonOr(params), options);
  const findings = new Map<LawName, Finding>();
  const all: Finding[] = [];
  /** Broken, or standing on one that is. */
  const stuck = new Set<LawName>();
  const tell = (finding: Finding): void => {
    if (finding.outcome !== "advice") findings.set(finding.law, finding);
    if (finding.outcome === "broken") stuck.add(finding.law);
    all.push(finding);
    options.onFinding?.(finding);
  };
  const { clock } = options;
  for (const law of Object.keys(laws) as LawName[]) {
    if (findings.has(law)) continue;
    const needed = laws[law].needs.find((other) => stuck.has(other));
    if (needed !== undefined) {
      stuck.add(law);
      tell({ law, outcome: "unchecked", why: `needs: ${laws[needed].says}` });
      continue;
    }
    options.onLaw?.(law);
    const startedMs = clock?.monotonicMs() ?? 0;
    const { at, verdict } = await attempts[law](subject, params).then(
      (verdict) => ({ at: law, verdict }),
      (error: unknown) => thrown(law, error),
    );
    const ms = clock === undefined ? {} : { ms: clock.monotonicMs() - startedMs };
    if ("breach" in verdict) tell({ law: at, outcome: "broken", breach: verdict.breach, ...ms });
    else if ("unchecked" in verdict) tell({ law, outcome: "unchecked", why: verdict.unchecked });
    else tell({ law, outcome: "holds", tried: verdict.tried, ...ms });
    if (at === law) continue;
    stuck.add(law);
    tell({ law, outcome: "unchecked", why: `needs: ${laws[at].says}` });
  }
  const sound = all.every(({ outcome }) => outcome !== "broken");
  if (sound) for (const advice of await adviceOn(subject, options)) tell(advice);
  return {
    findings: all,
    count: subject.count,
    chunks: subject.partials.length,
    chunkMs: subject.chunkMs,
    result: sound ? await serialResult(subject) : undefined,
  };
}

/** The laws that are broken, for a test of one's own: none, it should say. */
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

/** Some errors say which law they break, whichever was tried. */
const lawOfCode: Readonly<Record<string, LawName>> = {
  "bad-plan": "plan",
  "input-too-large": "inputs",
  "too-many-chunks": "plan",
  "partial-too-large": "size",
  "not-bytes": "codec",
};

function thrown(law: LawName, error: unknown): { at: LawName; verdict: Verdict } {
  if (!(error instanceof CalculationError)) throw error;
  const at =
    lawOfCode[error.code] ?? (law !== "finish" && error.code === "not-json" ? notJsonLaw(error) : law);
  if (at === "size") return { at, verdict: broken(error.message, tooLarge.likely, tooLarge.cure) };
  const told = (likely: string, cure: string) => ({ at, verdict: broken(error.message, likely, cure) });
  if (contractCodes.has(error.code)) {
    return told(
      "it gives what its place in the contract does not allow, so no attempt succeeds",
      cureOf(at, error.code),
    );
  }
  if (error.code === "calculation-threw") {
    const ends = at === "plan" || at === "finish" ? "the run" : "the pack";
    return told(
      "your code threw",
      `an error is tried again on other workers, and in the end it fails ${ends}: throw only where there is no answer`,
    );
  }
  return told(
    "it cannot work on this data",
    "a check needs a run that works: give other parameters, or mend the data",
  );
}

/** What `runJob` finds wrong with what user code gave. */
const contractCodes = new Set([
  "bad-plan",
  "input-too-large",
  "too-many-chunks",
  "not-json",
  "not-bytes",
  "bad-result",
]);

const notJsonLaw = (error: CalculationError): LawName =>
  error.message.startsWith("the input")
    ? "inputs"
    : error.message.startsWith("the result")
      ? "finish"
      : "codec";

const cureOf = (law: LawName, code: string): string =>
  code === "not-bytes"
    ? "give a Uint8Array that has all bytes of the partial"
    : law === "plan" || law === "inputs"
      ? "give a whole number of chunks, or a list of inputs that are JSON of at most 64 KB"
      : law === "finish"
        ? "give JSON without NaN and Infinity, or { body, contentType, extension }"
        : "give finite numbers, text, lists and plain objects, or give the calculation a codec";

/** Parameters that are no JSON at all stay as they are: their own law says so. */
function jsonOr(params: unknown): unknown {
  try {
    return throughJson(params);
  } catch {
    return params;
  }
}
