import { firstJsonLoss, type JsonLoss } from "../../../../src/engine/calculation/encodePart.ts";
import { runPlan } from "../../../../src/engine/calculation/runJob.ts";
import {
  keepSamples,
  type PlannedChunks,
  type Samples,
} from "../../../../src/engine/calculation/timeChunks.ts";
import { broken, sidesOf, type Verdict, windowOf } from "./findings.ts";
import { type Input, pause, type Subject } from "./subject.ts";

/** Two plans are compared up to this many inputs. */
const inputsCompared = 10_000;

/** Checks that JSON keeps the parsed parameters, because a spec stores them as JSON. */
export async function paramsLaw(_subject: Subject, parsed: unknown): Promise<Verdict> {
  const loss = firstJsonLoss(parsed);
  if (loss === undefined) return { tried: windowOf(JSON.stringify(parsed) ?? "none") };
  return broken(
    `parameter ${loss.path || "object"} is ${loss.was}, which JSON makes ${loss.becomes}`,
    "the schema returns a value that JSON cannot carry, and parameters are stored as JSON",
    "let the schema return text or a number, and make the value from it in plan and compute",
  );
}

/** Compares two plans, and keeps the inputs that the other laws need. */
export async function planLaw(subject: Subject): Promise<Verdict> {
  const first = await planOnce(subject);
  subject.count = first.chunks;
  subject.inputs = first.list ? first.kept : undefined;
  await pause(subject);
  const second = await planOnce(subject);
  const cause = [
    "plan reads the time, random numbers, or files that change",
    "derive the plan from the parameters alone; a list of files must not change during a run",
  ] as const;
  const kind = ({ list, chunks }: Planned): string =>
    `${chunks.toLocaleString("en-US")} ${list ? "input" : "chunk"}${chunks === 1 ? "" : "s"}`;
  if (kind(first) !== kind(second)) {
    return broken("plan gives another number of chunks when it is called again", ...cause, [
      { name: "first", value: kind(first) },
      { name: "again", value: kind(second) },
    ]);
  }
  const at = first.texts.findIndex((text, index) => text !== second.texts[index]);
  if (at < 0) return { tried: `twice the same ${kind(first)}` };
  const [a = "", b = ""] = [first.texts[at], second.texts[at]];
  return broken(
    `the input of chunk ${at} differs when plan is called again`,
    ...cause,
    sidesOf("first", Buffer.from(a), "again", Buffer.from(b)),
  );
}

/** Checks that JSON keeps each input, because inputs are stored as JSON. */
export async function inputsLaw(subject: Subject): Promise<Verdict> {
  if (subject.inputs === undefined) return { tried: "plan gives a count" };
  let found: { readonly index: number; readonly loss: JsonLoss; readonly text: string } | undefined;
  for (const [index, { input, given }] of subject.inputs) {
    const loss = firstJsonLoss(given);
    const text = JSON.stringify(input);
    if (loss !== undefined && (found === undefined || text.length < found.text.length))
      found = { index, loss, text };
  }
  if (found === undefined) return { tried: `${subject.inputs.size} inputs` };
  const { index, loss, text } = found;
  return broken(
    `input of chunk ${index}: ${loss.path || "it"} is ${loss.was}, which JSON makes ${loss.becomes}`,
    `compute gets ${windowOf(text)} there`,
    "list plain objects, lists, text and numbers, and make other values from them in compute",
  );
}

interface Planned extends PlannedChunks {
  /** The first inputs, a spread of others, and the last one. */
  readonly kept: ReadonlyMap<number, Input>;
  readonly texts: readonly string[];
}

async function planOnce(subject: Subject): Promise<Planned> {
  const kept = new Map<number, Input>();
  const spread: Samples<Input> = new Map();
  const texts: string[] = [];
  let from = 0;
  let last: readonly [number, Input] | undefined;
  const sink = async (inputs: readonly unknown[], given: readonly unknown[]): Promise<void> => {
    const both = inputs.map((input, i) => ({ input, given: given[i] }));
    keepSamples(spread, from, both);
    for (const [i, one] of both.entries()) {
      const index = from + i;
      if (index < subject.chunksWanted) kept.set(index, one);
      if (index < inputsCompared) texts.push(JSON.stringify(one.input));
      last = [index, one];
    }
    from += inputs.length;
  };
  const planned = await runPlan(subject.calculation, subject.params, sink, { files: subject.files });
  for (const [index, input] of spread) kept.set(index, input);
  if (last !== undefined) kept.set(...last);
  return { ...planned, kept, texts };
}

/** The value as a reader of stored JSON gets it. */
export const throughJson = (value: unknown): unknown =>
  value === undefined ? undefined : JSON.parse(JSON.stringify(value));
