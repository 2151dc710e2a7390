import { constants } from "node:buffer";
import { types } from "node:util";
import { CalculationError, messageOf } from "../model/errors.ts";
import { fileListSchema } from "../model/fileList.ts";
import { calculationLimits } from "../model/limits.ts";
import { contentTypeSchema, extensionSchema, notesSchema } from "../model/resultType.ts";
import { askedBy } from "./asks.ts";
import { isProgramError } from "./chunkAttempts.ts";
import type { AnyCalculation, Result, ResultBytes } from "./contract.ts";
import { placeOf } from "./placeOf.ts";

/** Runs user code; its error becomes a `CalculationError` that begins with `what` and names the file and line. */
export async function guarded<T>(what: string, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof CalculationError) throw error;
    const asked = askedBy(error);
    if (asked !== undefined) throw asked.as(what);
    const message = `${what}: ${messageOf(error)}${causeOf(error)}${placeOf(error)}`;
    const details = isProgramError(error) ? { program: true } : {};
    throw new CalculationError("calculation-threw", message, { cause: error, details });
  }
}

/** `fetch failed` says nothing without its cause. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!(cause instanceof Error)) return "";
  // That of several addresses that were tried has no message.
  const why = cause.message || String((cause as NodeJS.ErrnoException).code ?? cause.name);
  return messageOf(error).includes(why) ? "" : `: ${why}`;
}

/** A value that JSON does not keep. */
export interface JsonLoss {
  /** Such as `rows[2].when`; empty for the value itself. */
  readonly path: string;
  /** Such as `a Date`. */
  readonly was: string;
  readonly becomes: string;
  /** What to write instead, as a clause. */
  readonly cure?: string;
}

/** The first value inside of `value` that JSON does not keep. */
export const firstJsonLoss = (value: unknown): JsonLoss | undefined => jsonLosses(value).next().value;

/**
 * The values inside of `value` that JSON does not keep: a Date, Map, Set, typed array, bigint, an instance of a class,
 * NaN and the like. A property that is `undefined` counts as absent.
 */
export function* jsonLosses(value: unknown, path = ""): Generator<JsonLoss, undefined> {
  const loss = (was: string, becomes: string): JsonLoss => ({ path, was, becomes });
  if (isKept(value)) return;
  if (typeof value === "number") {
    yield loss(String(value), "an error");
    return;
  }
  if (typeof value !== "object" || value === null) {
    yield loss(article(value), typeof value === "bigint" ? "an error" : "nothing");
    return;
  }
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      if (isKept(value[index])) continue;
      const inner = `${path}[${index}]`;
      if (value[index] === undefined) yield { path: inner, was: "undefined", becomes: "null" };
      else yield* jsonLosses(value[index], inner);
    }
    return;
  }
  if (isBinary(value)) {
    yield loss(article(value), bytesInJson);
    return;
  }
  const prototype = Object.getPrototypeOf(value);
  // Another realm's plain object, such as one from a thread, has another Object.prototype above null.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    const name = prototype.constructor?.name || "class instance";
    const cure = value instanceof Map || value instanceof Set ? `; write [...${name.toLowerCase()}]` : "";
    yield { ...loss(`a ${name}`, shortOf(value)), ...(cure !== "" && { cure }) };
    return;
  }
  for (const [key, inner] of Object.entries(value)) {
    if (inner !== undefined && !isKept(inner)) yield* jsonLosses(inner, path === "" ? key : `${path}.${key}`);
  }
}

const bytesInJson = "an object of bytes or numbers";

/**
 * Throws for the losses that nobody can mean: a Map or Set becomes empty, and bytes an object. A Date is meant. A value
 * that holds itself, or is nested too deep, is left to whoever encodes it.
 */
export function refuseSilentLoss(value: unknown, what: string): void {
  try {
    for (const loss of jsonLosses(value)) {
      if (loss.becomes === "{}" || loss.becomes === bytesInJson) throw lost(what, loss);
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
}

/** Whether JSON certainly keeps a value. Most values of a large partial need no generator of their own. */
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

/** Encodes a partial; `what` names it in errors. Without a codec it is JSON, and values that JSON changes are refused. */
export async function encodePart(
  calculation: AnyCalculation,
  part: unknown,
  what = "the partial",
): Promise<Uint8Array> {
  const { codec } = calculation;
  const bytes: unknown =
    codec === undefined ? encodeWhole(part, what) : await guarded("encode", () => codec.encode(part));
  checkEncoded(bytes);
  checkBytes(what, bytes, "partialBytesMax", "partial-too-large");
  return alone(bytes);
}

export const decodePart = ({ codec }: AnyCalculation, bytes: Uint8Array): unknown =>
  codec === undefined
    ? JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString())
    : codec.decode(bytes);

/**
 * Encodes JSON, with `indent` as lines of which the last one ends. NaN, Infinity and undefined are refused, because JSON
 * would change them silently.
 */
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
    const why = isTooLong(cause) ? textTooLong : messageOf(cause);
    throw new CalculationError("not-json", `${what} cannot be JSON: ${why}`, { cause });
  }
  if (text === undefined)
    throw new CalculationError("not-json", `${what} is ${typeof value}, which is not JSON`);
  return new TextEncoder().encode(indent === undefined ? text : `${text}\n`);
}

const textTooLong = `its text has more than ${constants.MAX_STRING_LENGTH} characters, the most that JavaScript allows`;

const isTooLong = (error: unknown): boolean =>
  error instanceof RangeError && error.message === "Invalid string length";

/** Encodes JSON and refuses values that it changes, because folds would merge something else than was computed. */
function encodeWhole(value: unknown, what: string): Uint8Array {
  const bytes = encodeJson(value, what);
  const loss = firstJsonLoss(value);
  if (loss !== undefined) throw lost(what, loss);
  return bytes;
}

const lost = (what: string, { path, was, becomes, cure = "" }: JsonLoss): CalculationError =>
  new CalculationError(
    "not-json",
    `${what} cannot be JSON: ${path || "it"} is ${was}, which would become ${becomes}${cure}`,
  );

/** Throws `CalculationError` beyond a limit, which the message names so that its reason can be found. */
export function checkBytes(
  what: string,
  { length }: Uint8Array,
  name: "inputBytesMax" | "partialBytesMax" | "resultBytesMax",
  code: string,
): void {
  if (length > calculationLimits[name])
    throw new CalculationError(code, `${what} has ${length} bytes; ${limitText(name)}`);
}

export const limitText = (name: keyof typeof calculationLimits): string =>
  `the limit is ${calculationLimits[name]} (${name})`;

/**
 * The bytes that `finish` returned, or undefined for a JSON value. Throws `CalculationError` for a body that is not a
 * Uint8Array, and for a content type or extension outside the grammar: it would make a manifest that nobody can
 * decode, or a response that a browser runs. Bytes without the three fields, and the fields without bytes, are refused as
 * well: as JSON they would be an answer that nobody meant.
 */
export function resultBytes(result: Result): ResultBytes | undefined {
  if (isBinary(result)) throw bad(`${article(result)}: give { body, contentType, extension }`);
  const { body, contentType, extension, notes, joins } = Object(result) as Readonly<Record<string, unknown>>;
  if (typeof body === "string" && typeof contentType === "string") {
    throw bad("a body of text: give new TextEncoder().encode(text)");
  }
  if (!types.isUint8Array(body)) {
    if (isBinary(body)) throw bad(`a body that is ${article(body)}: ${asUint8Array("body")}`);
    const meant = typeof contentType === "string" && (body !== undefined || extension !== undefined);
    if (meant) throw bad(`a body that is ${article(body)}: give a Uint8Array`);
    return undefined;
  }
  const wrong = contentTypeSchema.safeParse(contentType).error?.issues[0];
  if (wrong !== undefined) throw bad(`the contentType ${quoted(contentType)}: ${wrong.message}`);
  const odd = extensionSchema.safeParse(extension).error?.issues[0];
  if (odd !== undefined) throw bad(`the extension ${quoted(extension)}: ${odd.message}`);
  const told = notesSchema.optional().safeParse(notes);
  if (!told.success) throw bad("notes that are not at most 10 lines of 500 characters");
  const joined = fileListSchema.shape.files.optional().safeParse(joins);
  if (!joined.success) throw bad("joins that are no saved files");
  return {
    body: alone(body),
    contentType: contentType as string,
    extension: extension as string,
    ...(told.data === undefined || told.data.length === 0 ? {} : { notes: told.data }),
    ...(joined.data === undefined ? {} : { joins: joined.data }),
  };
}

/** The bytes in a buffer of their own: a thread's answer is copied with the whole buffer, and a shared one may change. */
const alone = (bytes: Uint8Array): Uint8Array =>
  bytes.length === bytes.buffer.byteLength && !types.isSharedArrayBuffer(bytes.buffer)
    ? bytes
    : new Uint8Array(bytes);

/** Throws unless `encode` returned a `Uint8Array`: another array's bytes would be rounded or have no length. */
function checkEncoded(bytes: unknown): asserts bytes is Uint8Array {
  if (types.isUint8Array(bytes)) return;
  const fix = isBinary(bytes) ? `: ${asUint8Array("it")}` : "";
  throw new CalculationError("not-bytes", `encode must give a Uint8Array and gave ${article(bytes)}${fix}`);
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
