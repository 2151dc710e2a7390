import { types } from "node:util";
import { CalculationError } from "../model/errors.ts";
import { contentTypeSchema, extensionSchema } from "../model/resultType.ts";
import type { Result, ResultBytes } from "./contract.ts";

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
export function checkEncoded(bytes: unknown): asserts bytes is Uint8Array {
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
