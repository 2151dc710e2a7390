/**
 * Numbers that no double holds, so that 9007199254740993 and 9007199254740992, which have the same double, stay two
 * values: NDJSON keeps them as their text, `where` compares them exactly, and measures of numbers refuse them.
 */

/**
 * Whether a double holds the number of a JSON text: it is written back as the same decimal, so that different numbers stay
 * different. So 0.1 and 1e23 are held, and 0.12345678901234567890 is not. Digits that would be written back with an
 * exponent must be the double exactly, since `exactOf` would take it for an approximate number.
 */
export function isHeld(text: string): boolean {
  const value = Number(text);
  // Most numbers are written in this way, and comparing decimals takes several times as long.
  if (String(value) === text) return true;
  if (!Number.isFinite(value)) return false;
  if (Math.abs(value) >= 1e21 && /^-?\d+$/.test(text)) return BigInt(text) === BigInt(value);
  return decimalOf(text) === decimalOf(String(value));
}

/** The same text for equal decimals. Trims zeros by hand: an expression for them takes quadratic time. */
function decimalOf(text: string): string {
  const [mantissa = "", power = "0"] = text.toLowerCase().split("e");
  const [whole = "", part = ""] = mantissa.replace("-", "").split(".");
  const digits = whole + part;
  let [from, to] = [0, digits.length];
  while (digits[from] === "0") from += 1;
  while (to > from && digits[to - 1] === "0") to -= 1;
  if (from === to) return "0";
  const exponent = Number(power) - part.length + digits.length - to;
  return `${mantissa.startsWith("-") ? "-" : ""}${digits.slice(from, to)}e${exponent}`;
}

/** Runs of digits that may be more than the 15 every double holds, and exponents that may be beyond the doubles. */
const suspicious = /[\d.]{16}|\de[-+]?\d{3}/i;

/** A JSON text in which numbers that no double holds are strings. `json` must be valid, so that no invalid text becomes valid. */
export function withHeldNumbers(json: string): string {
  if (!suspicious.test(json)) return json;
  let quoted = false;
  return json.replace(/\\.|"|-?\d[\d.e+-]*/gi, (token) => {
    if (token === '"') quoted = !quoted;
    const isNumber = !quoted && token !== '"';
    return isNumber && !isHeld(token) ? `"${token}"` : token;
  });
}

/**
 * The whole number that a field has in digits, or with zeros behind a point, if it is not its nearest double `near`; else
 * `near`. A number is what it is written back as. One with an exponent is approximate: its double stands for it.
 */
export function exactOf(field: unknown, near: number): number | bigint {
  if (!(Math.abs(near) > Number.MAX_SAFE_INTEGER)) return near;
  const digits = /^\s*([-+]?\d+)(\.0*)?\s*$/.exec(String(field))?.[1];
  if (digits === undefined) return near;
  const exact = BigInt(digits);
  return exact === BigInt(near) ? near : exact;
}
