import * as z from "zod";
import type { Calculations } from "../calculation/contract.ts";
import { backOff } from "../model/backOff.ts";
import { canonicalJson, dollarAmount, dollarsMax, idSchema } from "../model/decode.ts";
import { InputError } from "../model/errors.ts";
import { isRecord, kebab } from "../model/json.ts";
import { type Tags, tagRule, tagsSchema } from "../model/labels.ts";
import { limits } from "../model/limits.ts";
import { parseRunId } from "../model/names.ts";
import { type Priority, priorities } from "../model/priority.ts";
import { type Spec, type Tolerance, toleranceSchema } from "../model/run.ts";
import { requestHashOf } from "../model/storedSpec.ts";
import type { Random } from "../storage/ports.ts";
import { clientLimits } from "./client.ts";

/** What `checkRequest` compares with its limits, and refuses by a rule of its own, with the code `bad-{field}` or `code`. */
const checkedLater = <T extends z.ZodType>(as: T) => z.custom<z.input<T>>(() => true).meta({ as });
export const wholeNumber = (max: number) => z.number().meta({ as: z.int().min(1).max(max) });

const deadlineSchema = z.strictObject({
  ms: z.int().min(1).max(clientLimits.deadlineMsMax),
  keep: z.boolean().default(false),
});

const pausesSchema = z.array(z.int().min(0).max(backOff.waitMaxS)).min(1).max(backOff.pausesMax);

export const checkedDollars = z.number().meta({ as: dollarAmount });

/** A request of a person or program, before any check of its values. */
export const requestSchema = z
  .strictObject({
    calculation: z.string(),
    // A record would drop the key `__proto__`, which the check of the parameters refuses.
    params: z
      .custom<Readonly<Record<string, unknown>>>(isRecord, "must be an object")
      .meta({ as: z.record(z.string(), z.unknown()), code: "bad-parameter" })
      .optional(),
    id: z
      .string()
      .meta({ as: idSchema, code: "bad-run-id" })
      .describe("Makes the submit idempotent; drawn by default.")
      .optional(),
    packSize: wholeNumber(clientLimits.packSizeMax)
      .describe("Chunks per pack; chosen by the planning worker by default.")
      .optional(),
    workers: wholeNumber(clientLimits.planWorkersMax)
      .describe(
        "Packs computed at once, as you expect: packs of automatic size are small enough for so many. By default the threads that are seen at work.",
      )
      .optional(),
    cap: wholeNumber(limits.capMax).describe("Packs in flight at most.").optional(),
    priority: checkedLater(z.enum(priorities))
      .describe(
        "Its part of the workers beside other runs: four times that of a normal run, or a quarter. No part of the request.",
      )
      .optional(),
    maxCost: checkedDollars
      .describe(
        "Dollars at most, by the estimate, retries included; beyond them it sends nothing more and waits. By default that of the app.",
      )
      .optional(),
    tolerate: checkedLater(toleranceSchema)
      .describe("Chunks that may be missing; none by default.")
      .optional(),
    packLimitMs: wholeNumber(clientLimits.packLimitMsMax)
      .describe("Time limit of one attempt, unless the limit of the app is lower.")
      .optional(),
    attempts: wholeNumber(limits.attemptsMax).describe("Attempts at work that throws.").optional(),
    retryAfterS: checkedLater(pausesSchema)
      .describe(
        "Seconds before its second, third … attempt, of which the last holds for all further ones. No part of the request.",
      )
      .optional(),
    deadline: checkedLater(deadlineSchema)
      .describe(
        "So many `ms` after a leader first sees the run or its retry it fails, or with `keep` finishes with what is done.",
      )
      .optional(),
    reuse: z
      .string()
      .describe(
        "The id of an ended run: partials of it are copied where code, parameters and inputs are the same. Implies `keepPartials`.",
      )
      .optional(),
    acceptCode: z
      .boolean()
      .describe("With `reuse`: partials of other code are copied too, and the manifest names both codes.")
      .optional(),
    keepPartials: z
      .boolean()
      .describe("The partials stay when the run is complete, until it expires: for runs that reuse it.")
      .optional(),
    tags: checkedLater(tagsSchema)
      .describe(
        "Words of the caller about the run. The same request with other tags is the same run, and keeps its first ones.",
      )
      .optional(),
  })
  .meta({ id: "RunRequest" });
export type RunRequest = z.infer<typeof requestSchema>;

type Checked = ReturnType<typeof checkRequest>;

export interface CheckedRequest extends Partial<Omit<Checked, "calculation" | "given" | "code">> {
  readonly calculation: { readonly name: string };
  readonly params: unknown;
  readonly given?: unknown;
  readonly code?: string | undefined;
  readonly cap: number;
  readonly requestHash: string;
  /** The schedule that asks for it. */
  readonly schedule?: string;
}

/** Validates a request. Throws `InputError` naming the field and its limit. */
export function checkRequest(request: RunRequest, calculations: Calculations) {
  const calculation = ofField("calculation", () => calculations.get(request.calculation));
  const asGiven = request.params ?? {};
  const params = calculations.parseParams(calculation, asGiven);
  const given = canonicalJson(asGiven) === canonicalJson(params) ? undefined : asGiven;
  checkParamsSize(params);
  checkParamsSize(asGiven);
  const id = request.id === undefined ? undefined : ofField("id", () => parseRunId(String(request.id)));
  const packSize = checkWhole("packSize", request.packSize, clientLimits.packSizeMax);
  const workers = checkWhole("workers", request.workers, clientLimits.planWorkersMax);
  const cap = checkCap(request.cap);
  const maxCost = checkMaxCost(request.maxCost);
  const tolerate = checkTolerance(request.tolerate);
  const packLimitMs = checkWhole("packLimitMs", request.packLimitMs, clientLimits.packLimitMsMax);
  const attempts = checkWhole("attempts", request.attempts, limits.attemptsMax);
  const deadline = checkDeadline(request.deadline);
  const tags = checkTags(request.tags);
  const retryAfterS = checkPauses(request.retryAfterS);
  const priority = checkPriority(request.priority);
  const options = { packSize, tolerate, packLimitMs, attempts, deadline, retryAfterS };
  const { reuse } = request;
  const acceptCode = request.acceptCode === true;
  if (acceptCode && reuse === undefined) throw invalid("acceptCode", "only allowed with reuse");
  const keepPartials = request.keepPartials === true || reuse !== undefined ? (true as const) : undefined;
  const hashed = { calculation: calculation.name, params, ...options };
  const requestHash = requestHashOf(acceptCode ? { ...hashed, reuse: { codes: [] } } : hashed);
  /** Identity of the code that validated the parameters. */
  const code = calculations.versionOf(calculation.name);
  const more = { reuse, acceptCode, keepPartials, priority, tags };
  return { calculation, params, given, code, id, workers, cap, maxCost, ...options, requestHash, ...more };
}

const limitsOfRun = ["packSize", "tolerate", "packLimitMs", "attempts", "deadline"] as const;

/** How the request of an existing run differs. Parameters may be long or secret, so they are only named. */
export function differencesOf(
  spec: Spec,
  { calculation, acceptCode, ...request }: Omit<CheckedRequest, "reuse">,
): string[] {
  if (spec.calculation !== calculation.name)
    return [`calculation is ${spec.calculation}, not ${calculation.name}`];
  const differs = (a: unknown, b: unknown): boolean => canonicalJson([a]) !== canonicalJson([b]);
  const old: Readonly<Record<string, unknown>> = Object(spec.params);
  const now: Readonly<Record<string, unknown>> = Object(request.params);
  const params = Object.keys({ ...old, ...now }).filter((name) => differs(old[name], now[name]));
  const told = (value: unknown): string => (value === undefined ? "not set" : JSON.stringify(value));
  return [
    ...(params.length === 0 ? [] : [`params differ in ${params.slice(0, 5).join(", ")}`]),
    ...limitsOfRun
      .filter((name) => differs(spec[name], request[name]))
      .map((name) => `${name} is ${told(spec[name])}, in this request ${told(request[name])}`),
    ...((spec.reuse?.codes !== undefined) === acceptCode ? [] : ["acceptCode differs"]),
  ];
}

/** Turns an error of another kind, such as `unknown`, into that of an invalid field. */
function ofField<T>(field: string, find: () => T): T {
  try {
    return find();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new InputError("invalid", error.code, error.message, { ...error.details, field });
  }
}

export const checkCap = (cap?: number): number => checkWhole("cap", cap, limits.capMax) ?? limits.capDefault;

export function checkMaxCost(dollars: number | undefined): number | undefined {
  if (dollars === undefined || dollarAmount.safeParse(dollars).success) return dollars;
  throw invalid("maxCost", `${dollars} is no amount of dollars above 0, at most ${dollarsMax}`);
}

export function checkWhole(field: string, value: number | undefined, max: number, code?: string) {
  if (value === undefined) return undefined;
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw invalid(field, `${value} is not a whole number from 1 to ${max}`, code);
}

function checkPauses(pauses: unknown): Spec["retryAfterS"] {
  if (pauses === undefined) return undefined;
  const checked = pausesSchema.safeParse(pauses);
  if (checked.success) return checked.data;
  const { pausesMax, waitMaxS } = backOff;
  throw invalid("retryAfterS", `give 1 to ${pausesMax} whole numbers of seconds, each from 0 to ${waitMaxS}`);
}

function checkPriority(priority: unknown): Priority | undefined {
  if (priority === undefined || priorities.some((one) => one === priority)) return priority as Priority;
  throw invalid("priority", `give one of ${priorities.join(", ")}`);
}

function checkTolerance(tolerate: unknown): Tolerance | undefined {
  if (tolerate === undefined) return undefined;
  const checked = toleranceSchema.safeParse(tolerate);
  if (checked.success && Object.keys(tolerate as object).length === 1) return checked.data;
  throw invalid("tolerate", `give {"chunks": n} with n from 0, or {"percent": p} with p from 0 to 100`);
}

function checkDeadline(deadline: unknown): Spec["deadline"] {
  if (deadline === undefined) return undefined;
  const checked = deadlineSchema.safeParse(deadline);
  if (checked.success) return checked.data;
  throw invalid(
    "deadline",
    `give {"ms": n} with a whole n from 1 to ${clientLimits.deadlineMsMax}, and "keep": true to finish with what is done`,
  );
}

function checkTags(tags: unknown, field = "tags"): Tags | undefined {
  if (tags === undefined) return undefined;
  const checked = tagsSchema.safeParse(tags);
  if (checked.success) return checked.data;
  throw invalid(field, tagRule);
}

function checkParamsSize(params: unknown): void {
  const bytes = Buffer.byteLength(JSON.stringify(params) ?? "");
  if (bytes <= limits.paramsBytesMax) return;
  const rule = `${bytes} bytes as JSON; at most ${limits.paramsBytesMax} (paramsBytesMax) are allowed`;
  throw invalid("params", rule, "params-too-large");
}

/** The error for a wrong field of a request, which the message begins with. */
export const invalid = (field: string, rule: string, code = `bad-${kebab(field)}`, details = {}) =>
  new InputError("invalid", code, `${field}: ${rule}`, { field, ...details });

/** Without letters and digits that people confuse when they read an id aloud or copy it. */
const readable = "abcdefghijkmnpqrstuvwxyz23456789";
const plain = "abcdefghijklmnopqrstuvwxyz0123456789";

const draw = (random: Random, alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[Math.floor(random.number() * alphabet.length)]).join("");

/** `primes-20261121-7f3k2a`: the calculation, the day of the submit, and one of 10^9 suffixes. */
export function newRunId(calculation: string, wallMs: number, random: Random): string {
  const day = new Date(wallMs).toISOString().slice(0, 10).replaceAll("-", "");
  return `${calculation.slice(0, 40)}-${day}-${draw(random, readable, 6)}`;
}

/** The tag that tells a run from older and later runs of the same id. */
export const newUid = (random: Random): string => draw(random, plain, 12);
