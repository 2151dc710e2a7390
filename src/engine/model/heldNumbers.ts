/**
 * Numbers of JSON that no double holds, such as 9007199254740993: whoever parses the text reads another number, without a
 * word. Here they become strings.
 */

/**
 * Whether a double holds the number of a JSON text: it is written back as the same decimal, so that different numbers stay
 * different. So 0.1 and 1e23 are held, and 0.12345678901234567890 is not. Digits that would be written back with an
 * exponent must be the double exactly, since with one they would pass for an approximate number.
 */
function isHeld(text: string): boolean {
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

/** Like `JSON.parse`, but a number that no double holds is its text. Throws for what is not JSON. */
export function parseHeld(json: string): unknown {
  const parsed: unknown = JSON.parse(json);
  const held = withHeldNumbers(json);
  return held === json ? parsed : JSON.parse(held);
}
