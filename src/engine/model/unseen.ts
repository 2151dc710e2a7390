/**
 * Characters that a reader does not see, or that a terminal obeys: control characters of ASCII and of Latin-1, separators of
 * lines, those that change the direction of text, and those without width. By them one name looks like another.
 *
 * Joiners stay between letters of scripts that need them and in emoji, and variation selectors behind emoji. Between letters
 * of Latin, Greek or Cyrillic a joiner is unseen too.
 */
const joinerInWord = /(?<=[\p{Lo}\p{Mn}\p{Mc}])[\u200c\u200d](?=[\p{Lo}\p{Mn}\p{Mc}])/u;
const joinerInEmoji =
  /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}]|\ufe0f)\u200d(?=\p{Extended_Pictographic})/u;
const selector = /(?<=\p{Extended_Pictographic})(?:\ufe0e|\ufe0f)|(?<=[0-9#*])\ufe0f(?=\u20e3)/u;
const legible = [joinerInWord, joinerInEmoji, selector].map(({ source }) => source).join("|");
const any = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/u.source;

/** The first alternative takes what is legible, and the second, captured, what is not. */
const unseen = new RegExp(`${legible}|(${any})`, "gu");

/** The text with each of them as `\u{202e}`, but those in `kept`. */
export const showUnseen = (text: string, kept: ReadonlySet<string> = new Set()): string =>
  text.replace(unseen, (all: string, one?: string) =>
    one === undefined || kept.has(one) ? all : `\\u{${one.codePointAt(0)?.toString(16) ?? ""}}`,
  );

/** The first of them in a text, as `U+202E`; undefined where all is legible. */
export function firstUnseen(text: string): string | undefined {
  for (const [, one] of text.matchAll(unseen))
    if (one !== undefined)
      return `U+${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
  return undefined;
}
