import { calculationLimits } from "../model/calculationLimits.ts";
import { CalculationError, messageOf } from "../model/errors.ts";
import type { AnyCalculation } from "./contract.ts";
import { guarded } from "./guarded.ts";
import { firstJsonLoss, type JsonLoss } from "./jsonLoss.ts";
import { checkEncoded } from "./resultBytes.ts";

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
