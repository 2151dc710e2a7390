import { InvalidArgumentError } from "commander";

/** A number on the command line: `2000`, `1e6`. Its range is checked by the client. */
export function wholeOption(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError("it must be a whole number.");
}
