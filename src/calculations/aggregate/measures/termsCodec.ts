import type { Reader, Writer } from "../partial/bytes.ts";
import type { Terms } from "./exactTerms.ts";

export function writeTerms(terms: Terms, out: Writer): void {
  out.count(terms.length);
  for (const term of terms) out.number(term);
}

export function readTerms(from: Reader): Terms {
  const terms: number[] = [];
  for (let left = from.count(); left > 0; left--) terms.push(from.number());
  return terms;
}
