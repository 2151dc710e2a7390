import type { RunRequest } from "../../../src/engine/client/runRequest.ts";
import { typedMs } from "../../../src/engine/model/figures.ts";
import { isRecord, pairsOf, valueText } from "../../../src/engine/model/json.ts";
import { priorities } from "../../../src/engine/model/priority.ts";
import { type Field, fieldsOf, issueOf, type Schema } from "./schema.ts";

/**
 * One state behind the form and the JSON: the parameters themselves. The JSON text is kept only while it does not parse,
 * so the two can never say different things.
 */
export interface FormState {
  readonly calculation: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** What the person typed as JSON, while it is not yet an object; the fields wait meanwhile. */
  readonly draft?: { readonly text: string; readonly issue: string };
  /** Options of the run, as typed; empty ones are left out. */
  readonly options: Readonly<Partial<Record<OptionName, string>>>;
}

const optionNames = [
  "id",
  "packSize",
  "workers",
  "cap",
  "priority",
  "maxCost",
  "tolerate",
  "packLimit",
  "attempts",
  "retryAfter",
  "deadline",
  "keep",
  "reuse",
  "tag",
] as const;
export type OptionName = (typeof optionNames)[number];
const numeric = ["packSize", "workers", "cap", "attempts"] as const;

export const emptyForm = (calculation: string, params: unknown = {}): FormState => ({
  calculation,
  params: isRecord(params) ? params : {},
  options: {},
});

/** The JSON beside the form. */
export const jsonOf = (state: FormState): string =>
  state.draft?.text ?? JSON.stringify(state.params, null, 2);

export function withJson(state: FormState, text: string): FormState {
  const { draft: _draft, ...rest } = state;
  try {
    const value: unknown = JSON.parse(text);
    if (isRecord(value)) return { ...rest, params: value };
    return { ...rest, draft: { text, issue: "the parameters are a JSON object" } };
  } catch (error) {
    return { ...rest, draft: { text, issue: error instanceof Error ? error.message : String(error) } };
  }
}

/** The state after a field was edited. An emptied field is left out, so that its default applies. */
export function withField(state: FormState, field: Field, text: string): FormState {
  const { [field.name]: _old, ...others } = state.params;
  const value = valueFrom(field, text);
  return { ...state, params: value === undefined ? others : { ...others, [field.name]: value } };
}

/** What a field's text means; text that is no number stays text, and is told as an issue. */
function valueFrom({ kind, choices }: Field, text: string): unknown {
  if (kind === "text") return text === "" ? undefined : text;
  if (text.trim() === "") return undefined;
  if (choices !== undefined) return choices.find((one) => String(one) === text) ?? text;
  if (kind === "integer" || kind === "number") {
    const value = Number(text.replaceAll(/[\s_]/g, ""));
    return Number.isFinite(value) ? value : text;
  }
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The text of a field's value; `typed` wins while it means that very value, so that `1e9` does not change under the hands. */
export function textOf(field: Field, value: unknown, typed?: string): string {
  if (typed !== undefined && same(valueFrom(field, typed), value)) return typed;
  return value === undefined ? "" : valueText(value);
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** A parameter may have the name of an option. */
export const optionKey = (name: OptionName): string => `option ${name}`;

/** Issues by field, and those of names that the calculation does not have. */
export function issuesOf(state: FormState, schema: Schema | undefined): ReadonlyMap<string, string> {
  const fields = fieldsOf(schema);
  const issues = new Map<string, string>();
  for (const field of fields) {
    const issue = issueOf(field, state.params[field.name]);
    if (issue !== undefined) issues.set(field.name, issue);
  }
  const known = new Set(fields.map(({ name }) => name));
  for (const name of Object.keys(state.params)) {
    if (schema !== undefined && !known.has(name)) issues.set(name, "is no parameter of this calculation");
  }
  for (const name of optionNames) {
    const issue = optionIssue(name, state.options[name] ?? "");
    if (issue !== undefined) issues.set(optionKey(name), issue);
  }
  return issues;
}

const wholeIssue = (text: string): string | undefined =>
  /^[1-9]\d{0,8}$/.test(text) ? undefined : "must be a whole number, at least 1";

function optionIssue(name: OptionName, text: string): string | undefined {
  const given = text.trim();
  if (given === "") return undefined;
  if (numeric.some((one) => one === name)) return wholeIssue(given);
  if (name === "maxCost") return Number(given) > 0 ? undefined : "must be a number of dollars above 0";
  if (name === "packLimit" || name === "deadline")
    return typedMs(given) !== undefined ? undefined : "must be a time such as 30s, 5m or 2h";
  if (name === "tolerate")
    return /^\d+(\.\d+)?%?$/.test(given) ? undefined : "must be a number of chunks or a share such as 1%";
  if (name === "priority")
    return priorities.some((one) => one === given) ? undefined : `must be one of ${priorities.join(", ")}`;
  if (name === "retryAfter")
    return pausesOf(given).every(Number.isInteger) ? undefined : "must be times of whole seconds";
  if (name === "tag")
    return wordsOf(given).every((word) => word.includes("=")) ? undefined : "must be key=value";
  return undefined;
}

const wordsOf = (text: string): string[] => text.split(/[\s,]+/);

const msOf = (text: string): number => typedMs(text) ?? Number.NaN;

const pausesOf = (text: string): number[] => wordsOf(text).map((word) => msOf(word) / 1_000);

/** The body of `POST runs`; JSON leaves out what is undefined. */
export function requestOf({ calculation, params, options }: FormState): RunRequest {
  const given = <T>(name: OptionName, read: (text: string) => T): T | undefined => {
    const text = options[name]?.trim();
    return text ? read(text) : undefined;
  };
  return {
    calculation,
    params,
    ...Object.fromEntries(numeric.map((name) => [name, given(name, Number)])),
    id: given("id", String),
    priority: given("priority", (text) => priorities.find((one) => one === text)),
    maxCost: given("maxCost", Number),
    reuse: given("reuse", String),
    tolerate: given("tolerate", toleranceOf),
    packLimitMs: given("packLimit", msOf),
    deadline: given("deadline", (text) => ({ ms: msOf(text), keep: options.keep === "true" })),
    retryAfterS: given("retryAfter", pausesOf),
    tags: given("tag", (text) => pairsOf(wordsOf(text))),
  };
}

const toleranceOf = (text: string) =>
  text.endsWith("%") ? { percent: Number(text.slice(0, -1)) } : { chunks: Number(text) };
