/** What a program wrote to a terminal at one time. */
export interface Written {
  readonly atMs: number;
  readonly text: string;
}

/** All lines of the terminal at one time, with the styles of `styleText`. */
export interface Frame {
  readonly atMs: number;
  readonly lines: readonly string[];
}

/** What the live screens of the command line write: lines, back to the start of one, n lines up and everything below away. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these move the cursor.
const moves = /\u001b\[(\d+)F\u001b\[J|\u001b\[2K|(\r)(?!\n)|(\r?\n)/g;

/** The frames that a program showed, one for each write that changed something. Throws for a movement that is not known. */
export function framesOf(written: readonly Written[]): readonly Frame[] {
  let lines: readonly string[] = [""];
  return written.flatMap(({ atMs, text }) => {
    const before = lines.join("\n");
    let from = 0;
    const add = (piece: string): void => {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: a movement that `moves` has not.
      const unknown = /\u001b\[[\d;?]*[A-Za-ln-z]/.exec(piece);
      if (unknown !== null) throw new Error(`no frame is known for ${JSON.stringify(unknown[0])}`);
      lines = [...lines.slice(0, -1), `${lines.at(-1)}${piece}`];
    };
    for (const { 0: move, 1: up, 2: start, 3: next, index } of text.matchAll(moves)) {
      add(text.slice(from, index));
      from = index + move.length;
      if (up !== undefined) lines = [...lines.slice(0, -1 - Number(up)), ""];
      else if (next !== undefined) lines = [...lines, ""];
      else if (start !== undefined) lines = [...lines.slice(0, -1), ""];
    }
    add(text.slice(from));
    return lines.join("\n") === before ? [] : [{ atMs, lines }];
  });
}

/** At most one frame for each `everyMs`, the last of them, and the very last of all. */
export const thinned = (frames: readonly Frame[], everyMs: number): readonly Frame[] =>
  frames.filter((frame, index) => {
    const next = frames[index + 1];
    return next === undefined || Math.floor(next.atMs / everyMs) > Math.floor(frame.atMs / everyMs);
  });
