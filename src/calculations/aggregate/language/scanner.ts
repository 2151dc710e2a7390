import { CalculationError } from "../../../model/errors.ts";

/** A cursor over a text. Positions in messages count from 1. */
export interface Scanner {
  readonly text: string;
  at: number;
  /** Skips blanks and returns the position behind them. */
  skipBlanks(): number;
  /** Skips blanks and tells whether nothing follows. */
  atEnd(): boolean;
  /** Consumes and returns what `pattern`, which must be sticky, matches behind blanks. */
  take(pattern: RegExp): string | undefined;
  /** Like `take`, but fails without a match. */
  expect(pattern: RegExp, expected: string): string;
  /** A column in double quotes, which are doubled inside of it, or a bare one that ends before one of `stops`; `what` it is called. */
  column(stops: string, what?: string): string;
  /** Throws a `CalculationError` that says what was expected at `at` and what is there. */
  fail(expected: string, at?: number): never;
}

export function scanner(text: string): Scanner {
  const self: Scanner = {
    text,
    at: 0,
    skipBlanks() {
      while (self.at < text.length && (text[self.at] as string).trim() === "") self.at += 1;
      return self.at;
    },
    atEnd: () => self.skipBlanks() === text.length,
    take(pattern) {
      pattern.lastIndex = self.skipBlanks();
      const found = pattern.exec(text)?.[0];
      if (found !== undefined) self.at += found.length;
      return found;
    },
    expect: (pattern, expected) => self.take(pattern) ?? self.fail(expected),
    column(stops, what = "a column") {
      const from = self.skipBlanks();
      if (text[from] === '"') return quoted(self, '"', what);
      while (self.at < text.length && !stops.includes(text[self.at] as string)) self.at += 1;
      const name = text.slice(from, self.at).trim();
      if (name === "") self.fail(what, from);
      if (name.includes('"')) self.fail("quotes around the whole name or none", from);
      return name;
    },
    fail(expected, at = self.at) {
      const rest = text.slice(at);
      const found = rest.trim() === "" ? "the end" : JSON.stringify(rest.slice(0, 20));
      throw new CalculationError("bad-query", `position ${at + 1}: expected ${expected}, found ${found}`);
    },
  };
  return self;
}

/** The text between two `quote` characters, which are doubled inside of it. */
export function quoted(from: Scanner, quote: string, what = "a column"): string {
  const start = from.at;
  let value = "";
  for (from.at += 1; ; from.at += 1) {
    const end = from.text.indexOf(quote, from.at);
    if (end < 0) from.fail(`a closing ${quote}`, start);
    value += from.text.slice(from.at, end);
    from.at = end + 1;
    if (from.text[from.at] !== quote) break;
    value += quote;
  }
  if (value === "" && quote === '"') from.fail(what, start);
  return value;
}
