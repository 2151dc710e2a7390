import { createHash } from "node:crypto";
import * as z from "zod";
import type { AnyCalculation } from "../calculations/contract.ts";
import type { Calculations } from "../calculations/registry.ts";
import { canonicalJson } from "../model/decode.ts";
import { InputError } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import { parseRunId } from "../model/names.ts";
import { type Spec, type Tolerance, toleranceSchema } from "../model/run.ts";
import type { Random } from "../storage/ports.ts";
import { clientLimits } from "./client.ts";

/** What a person or program asks for. Nothing in it is trusted yet. */
export interface RunRequest {
  readonly calculation: string;
  readonly params?: unknown;
  /** Makes the submit idempotent; drawn where absent. */
  readonly id?: string | undefined;
  /** Chunks per pack; chosen by the planning worker where absent. */
  readonly packSize?: number | undefined;
  /** Packs in flight at most. */
  readonly cap?: number | undefined;
  /** `{"chunks": n}` or `{"percent": p}`; nothing may be missing where absent. */
  readonly tolerate?: unknown;
  /** Time limit of one attempt; the limit of the app holds where it is lower. */
  readonly packLimitMs?: number | undefined;
  /** Attempts of work that throws. */
  readonly attempts?: number | undefined;
  /** `{"ms": n}` from when a leader first sees the run or its retry: then it fails, or with `"keep": true` finishes with what is done. */
  readonly deadline?: unknown;
}

export interface CheckedRequest {
  readonly calculation: AnyCalculation;
  readonly params: unknown;
  /** As asked for, where the schema made something else of them. */
  readonly given: unknown;
  /** Identity of the code that validated them. */
  readonly code: string;
  readonly id: string | undefined;
  readonly packSize: number | undefined;
  readonly cap: number;
  readonly tolerate: Tolerance | undefined;
  readonly packLimitMs: number | undefined;
  readonly attempts: number | undefined;
  readonly deadline: Spec["deadline"];
  /** Equal for equal work: the id and the cap are no part of it. */
  readonly requestHash: string;
}

/** Validates everything at once; throws `InputError` naming the field and its limit. */
export function checkRequest(request: RunRequest, calculations: Calculations): CheckedRequest {
  const calculation = asked("calculation", () => calculations.get(request.calculation));
  const params = calculations.parseParams(calculation, request.params ?? {});
  const asGiven = request.params ?? {};
  const given = canonicalJson(asGiven) === canonicalJson(params) ? undefined : asGiven;
  checkParamsSize(params);
  checkParamsSize(asGiven);
  const id = request.id === undefined ? undefined : asked("id", () => parseRunId(String(request.id)));
  const packSize = checkWhole("packSize", request.packSize, clientLimits.packSizeMax);
  const cap = checkCap(request.cap ?? limits.capDefault);
  const tolerate = checkTolerance(request.tolerate);
  const packLimitMs = checkWhole("packLimitMs", request.packLimitMs, clientLimits.packLimitMsMax);
  const attempts = checkWhole("attempts", request.attempts, limits.attemptsMax);
  const deadline = checkDeadline(request.deadline);
  const options = { packSize, tolerate, packLimitMs, attempts, deadline };
  const work = { calculation: calculation.name, params, ...options };
  const requestHash = createHash("sha256").update(canonicalJson(work)).digest("hex");
  const code = calculations.versionOf(calculation.name);
  return { calculation, params, given, code, id, cap, ...options, requestHash };
}

/** What is unknown elsewhere is a wrong field here, since the thing asked for is the new run. */
function asked<T>(field: string, look: () => T): T {
  try {
    return look();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new InputError("invalid", error.code, error.message, { ...error.details, field });
  }
}

export function checkCap(cap: number): number {
  return checkWhole("cap", cap, clientLimits.capMax) ?? limits.capDefault;
}

export function checkWhole(field: string, value: number | undefined, max: number): number | undefined {
  if (value === undefined) return undefined;
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw invalid(field, `bad-${kebab(field)}`, `${value} is not a whole number from 1 to ${max}`);
}

function checkTolerance(tolerate: unknown): Tolerance | undefined {
  if (tolerate === undefined) return undefined;
  const checked = toleranceSchema.safeParse(tolerate);
  if (checked.success && Object.keys(tolerate as object).length === 1) return checked.data;
  throw invalid(
    "tolerate",
    "bad-tolerate",
    `give {"chunks": n} with n from 0, or {"percent": p} with p from 0 to 100`,
  );
}

const deadlineSchema = z.strictObject({
  ms: z.int().min(1).max(clientLimits.deadlineMsMax),
  keep: z.boolean().default(false),
});

function checkDeadline(deadline: unknown): Spec["deadline"] {
  if (deadline === undefined) return undefined;
  const checked = deadlineSchema.safeParse(deadline);
  if (checked.success) return checked.data;
  throw invalid(
    "deadline",
    "bad-deadline",
    `give {"ms": n} with a whole n from 1 to ${clientLimits.deadlineMsMax}, and "keep": true to finish with what is done`,
  );
}

function checkParamsSize(params: unknown): void {
  const bytes = Buffer.byteLength(JSON.stringify(params) ?? "");
  if (bytes <= limits.paramsBytesMax) return;
  throw invalid(
    "params",
    "params-too-large",
    `${bytes} bytes as JSON; at most ${limits.paramsBytesMax} (paramsBytesMax) are allowed`,
  );
}

const invalid = (field: string, code: string, rule: string): InputError =>
  new InputError("invalid", code, `${field}: ${rule}`, { field });

const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Without letters and digits that people mistake for one another when they read an id aloud or copy it. */
const readable = "abcdefghijkmnpqrstuvwxyz23456789";
const plain = "abcdefghijklmnopqrstuvwxyz0123456789";

const draw = (random: Random, alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[Math.floor(random.number() * alphabet.length)]).join("");

/** `primes-20261121-7f3k2a`: what it computes, the day it was submitted, and 10^9 possibilities a day. */
export function newRunId(calculation: string, wallMs: number, random: Random): string {
  const day = new Date(wallMs).toISOString().slice(0, 10).replaceAll("-", "");
  return `${calculation.slice(0, 40)}-${day}-${draw(random, readable, 6)}`;
}

/** The tag that keeps a run apart from an older or later one of the same id. */
export const newUid = (random: Random): string => draw(random, plain, 12);
