import { showUnseen } from "../../../src/engine/model/unseen.ts";

/**
 * The one place through which everything passes that a terminal shows: results, names and messages that others chose, and
 * what user code prints in this process and its threads. It is below `write` of the two streams, so that no copy of that
 * function leads past it, and nothing else writes to them (`test/rules/terminal.test.ts`). A terminal obeys control
 * characters, which set the clipboard, move the cursor to forge lines, or hide text; so they are shown instead.
 *
 * Not promised: anything for files and pipes, which get every byte. What reads them may be a terminal in the end.
 */

/** What `styleText` makes of our own styles: colors, bold, dim and inverse. None of them hides or moves text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these.
const ownStyles = /(\u001b\[(?:[0127]|22|27|3[1-6]|39)m)/;
const kept: ReadonlySet<string> = new Set(["\n", "\t"]);

const lines = (text: string): string =>
  text
    .split("\r\n")
    .map((line) => showUnseen(line, kept))
    .join("\r\n");

/** The text with these characters shown as `\u{1b}`, but for newline and tab; `styles` keeps our own. */
export const visible = (text: string, { styles = true } = {}): string =>
  (styles ? text.split(ownStyles) : [text])
    .map((part, index) => (index % 2 === 1 ? part : lines(part)))
    .join("");

/** What a stream hands to the system: below `write`, which anybody may keep or replace. */
interface Sink {
  _write(piece: string | Uint8Array, encoding: BufferEncoding, done: (error?: Error | null) => void): void;
  _writev?: unknown;
}

/**
 * Makes a terminal's stream show control characters, whoever writes to it: also through a `write` that was kept from before.
 * Returns the way past this, for the sequences of our own that draw.
 */
export function guardTerminal(
  stream: NodeJS.WriteStream,
  { styles }: { readonly styles: boolean },
): (text: string) => void {
  const sink = stream as unknown as Sink;
  const write = sink._write.bind(stream);
  const drawn = new WeakSet<object>();
  // Our own styles are in texts of ours, and bytes are a result. A character may be split between two pieces of a result.
  const decoder = new TextDecoder();
  sink._write = (piece, encoding, done) => {
    const isText = typeof piece === "string" && /^utf-?8$/i.test(encoding);
    const bytes = typeof piece === "string" ? Buffer.from(piece, encoding) : piece;
    const text = isText ? piece : drawn.has(bytes) ? undefined : decoder.decode(bytes, { stream: true });
    write(
      text === undefined ? bytes : Buffer.from(visible(text, { styles: styles && isText })),
      "buffer" as BufferEncoding,
      done,
    );
  };
  // Several pieces at once would go past it.
  sink._writev = null;
  return (text) => {
    const bytes = Buffer.from(text);
    drawn.add(bytes);
    stream.write(bytes);
  };
}
