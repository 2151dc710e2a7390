/**
 * Reads the plain XML that a storage service writes: elements with or without attributes that hold either elements or
 * text, without blanks inside of end tags. A list answer holds a hundred thousand of them; the libraries measured
 * (docs/DECISIONS.md) take too long for a process that must renew a lease meanwhile.
 *
 * Not promised: XML in general. Comments, CDATA sections, a document type, text beside elements, and above all a
 * truncated answer are a SyntaxError; the reader never guesses.
 */
export interface XmlReader {
  /** Visits the elements directly within the root, which must have this name and be all that the text holds. */
  root(name: string, visit: (name: string) => void): void;
  /** Visits the elements directly within the current one. What the visitor does not read is skipped. */
  children(visit: (name: string) => void): void;
  /** The text of the current element, which holds no others. */
  text(): string;
  /** The value of an attribute of the current element, to be read before the element is. */
  attribute(name: string): string | undefined;
}

export function xmlReader(xml: string): XmlReader {
  let at = 0;
  /** The current element: the one whose start tag was read last. */
  let current = "";
  let attributes = "";
  let isEmpty = false;
  let isUnread = false;

  const refuse = (): never => {
    throw new SyntaxError(`the XML cannot be read at character ${at} of ${xml.length}`);
  };
  const skipBlanks = () => {
    while (isBlank(xml.charCodeAt(at))) at += 1;
  };
  const startTag = () => {
    const end = xml.indexOf(">", at);
    if (end === -1 || xml.charCodeAt(at) !== lessThan || isMarkup(xml.charCodeAt(at + 1))) refuse();
    isEmpty = xml.charCodeAt(end - 1) === slash;
    const tag = xml.slice(at + 1, isEmpty ? end - 1 : end);
    const blank = tag.indexOf(" ");
    current = blank === -1 ? tag : tag.slice(0, blank);
    attributes = blank === -1 ? "" : tag.slice(blank);
    isUnread = true;
    at = end + 1;
  };
  const isEndTag = (index: number, name: string): boolean =>
    xml.charCodeAt(index + 1) === slash &&
    xml.startsWith(name, index + 2) &&
    xml.charCodeAt(index + 2 + name.length) === greaterThan;

  const skip = () => {
    isUnread = false;
    const end = isEmpty ? -1 : xml.indexOf("<", at);
    if (end !== -1 && isEndTag(end, current)) at = end + current.length + 3;
    else children(() => {});
  };
  const children = (visit: (name: string) => void) => {
    const parent = current;
    isUnread = false;
    if (isEmpty) return;
    for (skipBlanks(); !isEndTag(at, parent); skipBlanks()) {
      startTag();
      visit(current);
      if (isUnread) skip();
    }
    at += parent.length + 3;
  };

  return {
    children,

    root(name, visit) {
      const declaration = /^\uFEFF?(<\?xml [^>]*\?>)?/.exec(xml);
      at = declaration?.[0].length ?? 0;
      skipBlanks();
      startTag();
      if (current !== name) refuse();
      children(visit);
      skipBlanks();
      if (at !== xml.length) refuse();
    },

    text() {
      isUnread = false;
      if (isEmpty) return "";
      const end = xml.indexOf("<", at);
      if (end === -1 || !isEndTag(end, current)) refuse();
      const text = xml.slice(at, end);
      at = end + current.length + 3;
      return text.includes("&") ? unescaped(text) : ownCopy(text);
    },

    attribute(name) {
      if (attributes === "") return undefined;
      const found = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(attributes);
      const value = found?.[1] ?? found?.[2];
      return value === undefined ? undefined : unescaped(value);
    },
  };
}

const lessThan = 0x3c;
const greaterThan = 0x3e;
const slash = 0x2f;

const isBlank = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** `/`, `!` or `?` begins no element. */
const isMarkup = (code: number): boolean => code === slash || code === 0x21 || code === 0x3f;

const predefined: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

const unescaped = (text: string): string =>
  text.replace(/&([^;&]*;?)/g, (entity, body: string) => {
    const [, hex, decimal, name] = /^(?:#x([\da-fA-F]+)|#(\d+)|([a-z]+));$/.exec(body) ?? [];
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    const character = name === undefined ? characterOf(code) : predefined[name];
    if (character === undefined) throw new SyntaxError(`the XML holds the unknown entity ${entity}`);
    return character;
  });

const characterOf = (code: number): string | undefined =>
  code <= 0x10ffff ? String.fromCodePoint(code) : undefined;

/** A slice keeps its whole source text in memory, which may be many megabytes; this copy does not. */
const ownCopy = (slice: string): string => ` ${slice}`.slice(1);
