import { AsyncLocalStorage } from "node:async_hooks";
import { format } from "node:util";
import { chunkNow } from "../../calculation/attempt.ts";
import { type PrintedLine, printedLimits } from "../../model/printed.ts";
import type { Question } from "./threadTask.ts";

/**
 * What `console` prints while a task runs, and whatever that awaits, is told to the process too. Both have a limit: the process
 * takes what a thread prints, and would do nothing else while code prints without end.
 *
 * Not promised: a limit to what code writes to the streams by itself.
 */
interface Printing {
  /** Lines so far, those beyond the limit too. */
  printed: number;
  take(level: PrintedLine["level"], given: readonly unknown[], print: (text: string) => void): void;
}

export const printingOf = (tell: (said: Question) => void): Printing => {
  const toStream = streamLimit();
  return {
    printed: 0,
    take(level, given, print) {
      this.printed += 1;
      const isKept = this.printed <= printedLimits.lines;
      if (!isKept && toStream.isOver()) return;
      const text = format(...given);
      toStream.print(text, print);
      if (!isKept) return;
      const shown = text.slice(0, printedLimits.characters);
      tell({ say: "printed", line: { atMs: Date.now(), level, chunk: chunkNow(), text: shown } });
    },
  };
};

/** Lets so many characters through, and says once that there were more. */
function streamLimit() {
  let left: number = printedLimits.streamCharacters;
  return {
    isOver: () => left <= 0,
    print(text: string, print: (text: string) => void): void {
      if (left <= 0) return;
      print(text.slice(0, left));
      left -= text.length + 1;
      if (left <= 0)
        print(`(code has printed ${printedLimits.streamCharacters} characters: the rest is left out)`);
    },
  };
}

const latest = new AsyncLocalStorage<Printing>();

export const withPrinting = <T>(printing: Printing, run: () => Promise<T>): Promise<T> =>
  latest.run(printing, run);

const levels = { debug: "debug", log: "info", info: "info", warn: "warn", error: "error" } as const;

/** Replaces the methods of `console` in this thread. What is printed outside of any task has the limit of `others`, if that is given. */
export function limitConsole(others?: Printing): void {
  for (const [method, level] of Object.entries(levels)) {
    const name = method as keyof typeof levels;
    const printAll = console[name].bind(console);
    // One argument may hold signs of a format.
    const printText = (text: string): void => printAll("%s", text);
    console[name] = (...given: unknown[]) => {
      const printing = latest.getStore() ?? others;
      if (printing === undefined) printAll(...given);
      else printing.take(level, given, printText);
    };
  }
}
