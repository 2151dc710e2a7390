import { CalculationError } from "../../../model/errors.ts";

/** Walks through a text; positions in messages count from 1. */
export interface Scanner {
  readonly text: string;
  at: number;
  /** What `pattern`, which must be sticky, finds here, blanks before it left out; passes it. */
  take(pattern: RegExp): string | undefined;
  /** Passes blanks. */
  atEnd(): boolean;
  /** A column: in "double quotes", inside which they are doubled, or as it stands up to one of `stops`. */
  column(stops: string): string;
  /** Says what was expected here, or at `at`, and what is there. */
  fail(expected: string, at?: number): never;
}

export function scanner(text: string): Scanner {
  const self: Scanner = {
    text,
    at: 0,
    take(pattern) {
      skipBlanks();
      pattern.lastIndex = self.at;
      const found = pattern.exec(text)?.[0];
      if (found !== undefined) self.at += found.length;
      return found;
    },
    atEnd() {
      skipBlanks();
      return self.at === text.length;
    },
    column(stops) {
      skipBlanks();
      const from = self.at;
      if (text[from] === '"') return quoted(self, '"');
      while (self.at < text.length && !stops.includes(text[self.at] as string)) self.at += 1;
      const name = text.slice(from, self.at).trim();
      if (name === "") self.fail("a column", from);
      if (name.includes('"')) self.fail("quotes around the whole name or none", from);
      return name;
    },
    fail(expected, at = self.at) {
      const rest = text.slice(at);
      const found = rest.trim() === "" ? "the end" : JSON.stringify(rest.slice(0, 20));
      throw new CalculationError("bad-query", `position ${at + 1}: expected ${expected}, found ${found}`);
    },
  };
  const skipBlanks = (): void => {
    while (self.at < text.length && (text[self.at] as string).trim() === "") self.at += 1;
  };
  return self;
}

/** What stands between two `quote`, which is doubled inside. */
export function quoted(from: Scanner, quote: string): string {
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
  if (value === "" && quote === '"') from.fail("a column", start);
  return value;
}
