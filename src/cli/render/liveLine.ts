import type { Clock } from "../../storage/ports.ts";
import type { Screen } from "../cli.ts";

/** A line that is rewritten in place on a terminal; elsewhere a new line when it matters. */
export interface LiveLine {
  /** `key` tells whether something happened; a line with the same key is only repeated now and then. */
  show(line: string, key: string): Promise<void>;
  /** Ends the live line, so that what follows begins on a line of its own. */
  end(): Promise<void>;
}

/** Where lines cannot be rewritten, one with nothing new in it is printed no more often than this. */
const quietMs = 5_000;

export function liveLine(screen: Screen, clock: Clock): LiveLine {
  let shown: { readonly key: string; readonly line: string; readonly atMs: number } | undefined;
  return {
    show: async (line, key) => {
      if (line === shown?.line) return;
      const nowMs = clock.monotonicMs();
      const due = shown === undefined || key !== shown.key || nowMs - shown.atMs >= quietMs;
      if (!screen.isTty && !due) return;
      await screen.write(screen.isTty ? `\r\u001b[2K${line}` : `${line}\n`);
      shown = { key, line, atMs: nowMs };
    },
    end: async () => {
      if (screen.isTty && shown !== undefined) await screen.write("\n");
      shown = undefined;
    },
  };
}
