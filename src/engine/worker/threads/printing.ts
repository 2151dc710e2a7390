import { AsyncLocalStorage } from "node:async_hooks";
import { format } from "node:util";
import { chunkNow } from "../../calculation/attempt.ts";
import { type PrintedLine, printedLimits } from "../../model/printed.ts";
import type { Question } from "./threadTask.ts";

/** What `console` prints while a task runs, and whatever that awaits, is told to the process too, up to a limit. */
interface Printing {
  /** Lines so far, those beyond the limit too. */
  printed: number;
  take(level: PrintedLine["level"], text: string): void;
}

export function printingOf(tell: (said: Question) => void): Printing {
  return {
    printed: 0,
    take(level, text) {
      this.printed += 1;
      if (this.printed > printedLimits.lines) return;
      const shown = text.slice(0, printedLimits.characters);
      tell({ say: "printed", line: { atMs: Date.now(), level, chunk: chunkNow(), text: shown } });
    },
  };
}

const latest = new AsyncLocalStorage<Printing>();

export const withPrinting = <T>(printing: Printing, run: () => Promise<T>): Promise<T> =>
  latest.run(printing, run);

const levels = { debug: "debug", log: "info", info: "info", warn: "warn", error: "error" } as const;
for (const [method, level] of Object.entries(levels)) {
  const name = method as keyof typeof levels;
  const print = console[name].bind(console);
  console[name] = (...given: unknown[]) => {
    print(...given);
    latest.getStore()?.take(level, format(...given));
  };
}
