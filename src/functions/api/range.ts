/** What a `Range` header asks of a body of so many bytes. */
export type Asked =
  | { readonly kind: "whole" }
  | { readonly kind: "part"; readonly offset: number; readonly count: number }
  | { readonly kind: "unsatisfiable" };

/**
 * One range of bytes (RFC 9110, 14.1.2). Several ranges, other units and what does not parse are ignored, as the
 * standard allows: the whole is then the answer.
 */
export function rangeOf(header: string | null, bytes: number): Asked {
  const match = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(header ?? "");
  const [, first = "", last = ""] = match ?? [];
  if (first === "" && last === "") return { kind: "whole" };
  if (first === "") {
    const count = Math.min(Number(last), bytes);
    return count === 0 ? { kind: "unsatisfiable" } : { kind: "part", offset: bytes - count, count };
  }
  const offset = Number(first);
  if (last !== "" && Number(last) < offset) return { kind: "whole" };
  if (offset >= bytes) return { kind: "unsatisfiable" };
  const end = last === "" ? bytes - 1 : Math.min(Number(last), bytes - 1);
  return { kind: "part", offset, count: end - offset + 1 };
}
