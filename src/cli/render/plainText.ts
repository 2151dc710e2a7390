/**
 * Text of a stored record, an error or a message on one line, without anything that a terminal would obey: what
 * a calculation throws and what lies in a queue is anybody's text.
 */
export const oneLine = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these must not reach a terminal.
  text.replace(/[\s\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g, " ").trim();

/** Cut to a width, with a sign that something is missing. */
export const clip = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
