/**
 * The one place through which everything passes that a terminal shows: results, names and messages that others chose, and
 * what user code prints in this process and its threads. A terminal obeys control characters, which set the clipboard,
 * move the cursor to forge lines, or hide text; so they are shown instead.
 *
 * Not promised: anything for files and pipes, which get every byte. What reads them may be a terminal in the end.
 */

/**
 * Control characters of ASCII and of Latin-1, separators of lines, and those that change the direction of text or are not
 * seen, by which one name looks like another. Joiners and two variation selectors are part of words and of emoji.
 */
const controls =
  /\r\n|[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb](?<!\u200c|\u200d|\ufe0e|\ufe0f)/gu;
/** What `styleText` makes of our own styles: colors, bold, dim and inverse. None of them hides or moves text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these.
const ownStyles = /(\u001b\[(?:[0127]|22|27|3[1-6]|39)m)/;
const kept: ReadonlySet<string> = new Set(["\n", "\t", "\r\n"]);

const shown = (one: string): string =>
  kept.has(one) ? one : `\\u{${one.codePointAt(0)?.toString(16) ?? ""}}`;

/** The text with these characters shown as `\u{1b}`, but for newline and tab; `styles` keeps our own. */
export const visible = (text: string, { styles = true } = {}): string =>
  (styles ? text.split(ownStyles) : [text])
    .map((part, index) => (index % 2 === 1 ? part : part.replace(controls, shown)))
    .join("");

type Write = NodeJS.WriteStream["write"];

/**
 * Makes a terminal's stream show control characters, whoever writes to it. Returns the way past this, for the sequences of
 * our own that draw.
 */
export function guardTerminal(stream: NodeJS.WriteStream, { styles }: { readonly styles: boolean }): Write {
  const raw = stream.write.bind(stream) as Write;
  // A character may be split between two pieces of a result.
  const decoder = new TextDecoder();
  stream.write = ((piece: string | Uint8Array, ...rest: readonly unknown[]) => {
    const text = typeof piece === "string" ? piece : decoder.decode(piece, { stream: true });
    // What is given as a string is text already, whatever its encoding was to be.
    const done = rest.find((one) => typeof one === "function") as (() => void) | undefined;
    return raw(visible(text, { styles }), done);
  }) as Write;
  return raw;
}
