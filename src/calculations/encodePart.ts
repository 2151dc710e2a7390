import { types } from "node:util";
import { CalculationError, messageOf } from "../model/errors.ts";
import { calculationLimits } from "../model/limits.ts";
import { contentTypeSchema, extensionSchema } from "../model/resultType.ts";
import type { AnyCalculation, Result, ResultBytes } from "./contract.ts";
import { placeOf } from "./placeOf.ts";

/** Runs user code; what it throws becomes a `CalculationError` that begins with `what` and tells where it was. */
export async function guarded<T>(what: string, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof CalculationError) throw error;
    const message = `${what}: ${messageOf(error)}${placeOf(error)}`;
    throw new CalculationError("calculation-threw", message, { cause: error });
  }
}

/** Where JSON gives back something else than it was given. */
export interface JsonLoss {
  /** Such as `rows[2].when`; empty for the value itself. */
  readonly path: string;
  /** Such as `a Date`. */
  readonly was: string;
  readonly becomes: string;
}

/** The first place at which a value is not what JSON makes of it. */
export const firstJsonLoss = (value: unknown): JsonLoss | undefined => jsonLosses(value).next().value;

/**
 * The places at which a value is not what JSON makes of it: a Date, Map, Set, typed array, bigint, an instance of a
 * class, NaN and their like. A property that is `undefined` and one that is not there count as the same.
 */
export function* jsonLosses(value: unknown, path = ""): Generator<JsonLoss, undefined> {
  const loss = (was: string, becomes: string): JsonLoss => ({ path, was, becomes });
  switch (typeof value) {
    case "string":
    case "boolean":
      return;
    case "number":
      if (!Number.isFinite(value)) yield loss(String(value), "an error");
      return;
    case "object":
      if (value === null) return;
      break;
    case "bigint":
      yield loss("a bigint", "an error");
      return;
    default:
      yield loss(typeof value === "undefined" ? "undefined" : `a ${typeof value}`, "nothing");
      return;
  }
  if (Array.isArray(value)) {
    for (let place = 0; place < value.length; place += 1) {
      if (isKept(value[place])) continue;
      const inner = `${path}[${place}]`;
      if (value[place] === undefined) yield { path: inner, was: "undefined", becomes: "null" };
      else yield* jsonLosses(value[place], inner);
    }
    return;
  }
  const prototype = Object.getPrototypeOf(value);
  // Another realm's plain object, such as one from a thread, has another Object.prototype above null.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    yield loss(`a ${prototype.constructor?.name || "class instance"}`, shortOf(value));
    return;
  }
  for (const [key, inner] of Object.entries(value)) {
    if (inner !== undefined && !isKept(inner)) yield* jsonLosses(inner, path === "" ? key : `${path}.${key}`);
  }
}

/** Most of a large partial is of this kind, and takes no generator of its own. */
const isKept = (value: unknown): boolean =>
  value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);

function shortOf(value: object): string {
  try {
    const text = JSON.stringify(value) ?? "nothing";
    return text.length <= 40 ? text : `${text.slice(0, 39)}…`;
  } catch {
    return "an error";
  }
}

/** Partials as bytes and back, and other values as JSON. What JSON would change is refused. */

/** `what` names the partial in errors. */
export async function encodePart(
  calculation: AnyCalculation,
  part: unknown,
  what = "the partial",
): Promise<Uint8Array> {
  const { codec } = calculation;
  const bytes: unknown =
    codec === undefined ? encodeWhole(part, what) : await guarded("encode", () => codec.encode(part));
  checkEncoded(bytes);
  if (bytes.length <= calculationLimits.partialBytesMax) return bytes;
  throw new CalculationError(
    "partial-too-large",
    `${what} has ${bytes.length} bytes; ${limitText("partialBytesMax")}`,
  );
}

export const decodePart = ({ codec }: AnyCalculation, bytes: Uint8Array): unknown =>
  codec === undefined
    ? JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString())
    : codec.decode(bytes);

/** JSON has no NaN, Infinity or undefined and would change them silently, so they are refused. */
export function encodeJson(value: unknown, what: string, indent?: number): Uint8Array {
  let text: string | undefined;
  try {
    text = JSON.stringify(
      value,
      (key, inner: unknown) => {
        if (typeof inner !== "number" || Number.isFinite(inner)) return inner;
        throw new TypeError(`${key || "it"} is ${inner}`);
      },
      indent,
    );
  } catch (cause) {
    throw new CalculationError("not-json", `${what} cannot be JSON: ${messageOf(cause)}`, { cause });
  }
  if (text === undefined)
    throw new CalculationError("not-json", `${what} is ${typeof value}, which is not JSON`);
  return new TextEncoder().encode(text);
}

/** Others would merge something else than what was computed, so what JSON changes is refused too. */
function encodeWhole(value: unknown, what: string): Uint8Array {
  const bytes = encodeJson(value, what);
  const loss = firstJsonLoss(value);
  if (loss !== undefined) throw lost(what, loss);
  return bytes;
}

export const lost = (what: string, { path, was, becomes }: JsonLoss): CalculationError =>
  new CalculationError(
    "not-json",
    `${what} cannot be JSON: ${path || "it"} is ${was}, which would become ${becomes}`,
  );

/** Names the limit, so that whoever meets it can look up its reason. */
export const limitText = (name: keyof typeof calculationLimits): string =>
  `the limit is ${calculationLimits[name]} (${name})`;

/**
 * The bytes that `finish` gave, or undefined where it gave a JSON value. Throws `CalculationError` for what is meant as
 * bytes and is none, and for a content type or extension outside the grammar: stored, it would make a manifest that
 * nobody can decode, or an answer that a browser runs.
 */
export function resultBytes(result: Result): ResultBytes | undefined {
  const { body, contentType, extension } = Object(result) as Readonly<Record<string, unknown>>;
  if (typeof body === "string" && typeof contentType === "string") {
    throw bad("a body of text: give new TextEncoder().encode(text)");
  }
  const bytes = body instanceof Uint8Array;
  if (!bytes && !isBinary(body)) return undefined;
  if (!bytes) throw bad(`a body that is ${article(body)}: ${asUint8Array("body")}`);
  const wrong = contentTypeSchema.safeParse(contentType).error?.issues[0];
  if (wrong !== undefined) throw bad(`the contentType ${quoted(contentType)}: ${wrong.message}`);
  const odd = extensionSchema.safeParse(extension).error?.issues[0];
  if (odd !== undefined) throw bad(`the extension ${quoted(extension)}: ${odd.message}`);
  return { body, contentType: contentType as string, extension: extension as string };
}

/** Throws unless `encode` gave a `Uint8Array`: of another array the bytes would be rounded or have no length. */
function checkEncoded(bytes: unknown): asserts bytes is Uint8Array {
  if (bytes instanceof Uint8Array) return;
  const cure = isBinary(bytes) ? `: ${asUint8Array("it")}` : "";
  throw new CalculationError("not-bytes", `encode must give a Uint8Array and gave ${article(bytes)}${cure}`);
}

const bad = (what: string): CalculationError => new CalculationError("bad-result", `finish gave ${what}`);

const isBinary = (value: unknown): boolean => ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value);

const asUint8Array = (name: string): string =>
  `give new Uint8Array(${name}.buffer, ${name}.byteOffset, ${name}.byteLength), or new Uint8Array(${name}) of an ArrayBuffer`;

function article(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  const name = typeof value === "object" ? value.constructor?.name || "object" : typeof value;
  return `${/^[AEIO]/i.test(name) ? "an" : "a"} ${name}`;
}

const quoted = (value: unknown): string =>
  typeof value === "string" ? JSON.stringify(value.slice(0, 80)) : String(value);
