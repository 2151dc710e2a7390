import stringWidth from "string-width";
import { escaped, filmSvg } from "./filmSvg.ts";
import type { Frame } from "./terminalFrames.ts";

const [charWidth, lineHeight, margin, fontSize] = [8, 19, 16, 13.3];

/** The codes of `styleText` and the class of each. A terminal of its own colors is legible on light and dark pages. */
const classOf: Readonly<Record<string, string>> = {
  1: "b",
  2: "d",
  31: "r",
  32: "g",
  33: "y",
  36: "c",
  7: "i",
};
const ends: Readonly<Record<string, readonly string[]>> = {
  0: Object.values(classOf),
  22: ["b", "d"],
  27: ["i"],
  39: ["r", "g", "y", "c"],
};
// biome-ignore lint/suspicious/noControlCharactersInRegex: the start of a style.
const styleCode = /\u001b\[(\d+)m/;
const style = `text{font:${fontSize}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e6edf3;white-space:pre}
.b{font-weight:700}.d{fill:#9aa6b2}.r{fill:#ff8c82}.g{fill:#6fdd8b}.y{fill:#f2cc60}.c{fill:#79c8ff}.i{fill:#0d1117}`;

/** The frames of a terminal as a film. `msOf` says how long each is shown; the same lines are stored once. */
export function terminalSvg(
  frames: readonly Frame[],
  title: string,
  columns: number,
  msOf: (index: number) => number,
): string {
  const rows = Math.max(...frames.map(({ lines }) => lines.length));
  const [width, height] = [columns * charWidth + 2 * margin, rows * lineHeight + 2 * margin];
  const ids = new Map<string, string>();
  const idOf = (line: string): string => {
    const id = ids.get(line) ?? `l${ids.size}`;
    ids.set(line, id);
    return id;
  };
  const pictures = frames.map(({ lines }, index) => ({
    ms: msOf(index),
    markup: `<rect width="${width}" height="${height}" fill="#0d1117"/>${lines
      .map((line, row) => (line.trim() === "" ? "" : `<use href="#${idOf(line)}" y="${row * lineHeight}"/>`))
      .join("")}`,
  }));
  const defs = [...ids].map(([line, id]) => `<g id="${id}">${lineMarkup(line)}</g>`).join("\n");
  return filmSvg({ width, height, title, style, defs, pictures });
}

/** Each piece has its width, so that columns stand below each other in any font. */
function lineMarkup(line: string): string {
  const active = new Set<string>();
  let column = 0;
  return line
    .split(styleCode)
    .map((piece, index) => {
      if (index % 2 === 1) {
        for (const one of ends[piece] ?? []) active.delete(one);
        const begun = classOf[piece];
        if (begun !== undefined) active.add(begun);
        return "";
      }
      return piece
        .split(/( {2,})/)
        .map((word) => {
          const at = column;
          column += stringWidth(word);
          if (word.trim() === "") return "";
          const x = margin + at * charWidth;
          const width = (column - at) * charWidth;
          const block = active.has("i")
            ? `<rect x="${x}" y="${margin}" width="${width}" height="${lineHeight}" fill="#e6edf3"/>`
            : "";
          const names = active.size === 0 ? "" : ` class="${[...active].join(" ")}"`;
          return `${block}<text x="${x}" y="${margin + 14}" textLength="${width}" lengthAdjust="spacingAndGlyphs"${names}>${escaped(word)}</text>`;
        })
        .join("");
    })
    .join("");
}
