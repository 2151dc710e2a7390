import type { Names } from "../../../src/engine/model/names.ts";
import type { Call } from "./farService.ts";

/** What leading costs, read off the calls of one leader. A loop begins where it lists the markers with their metadata. */
export interface LeaderFigures {
  /** List pages of one loop at most, over all runs and containers. */
  pagesPerLoopMax: number;
  /** Pages of partials, and loops that read any. */
  partPages: number;
  partLoops: number;
  /**
   * Messages of work put, clean-up not among them; and the most between two writes of the state of one run, where one
   * that was put twice because its answer was slow counts once.
   */
  sends: number;
  sendsBetweenWritesMax: number;
  cleanUps: number;
}

export interface LeaderWatch {
  readonly figures: LeaderFigures;
  onCall(call: Call): void;
}

export function leaderWatch(names: Names): LeaderWatch {
  const figures: LeaderFigures = {
    pagesPerLoopMax: 0,
    partPages: 0,
    partLoops: 0,
    sends: 0,
    sendsBetweenWritesMax: 0,
    cleanUps: 0,
  };
  let pages = 0;
  let partsInLoop = 0;
  const unwritten = new Map<string, Set<string>>();

  const onList = (container: string, prefix: string, metadata: boolean): void => {
    if (container === names.active && metadata) {
      pages = 0;
      partsInLoop = 0;
    }
    pages += 1;
    figures.pagesPerLoopMax = Math.max(figures.pagesPerLoopMax, pages);
    if (!prefix.includes("/parts/")) return;
    if (partsInLoop === 0) figures.partLoops += 1;
    partsInLoop += 1;
    figures.partPages += 1;
  };
  const onSend = (queue: string, text: string): void => {
    if (queue === names.wake) return;
    if (text.includes('"kind":"cleanup"')) {
      figures.cleanUps += 1;
      return;
    }
    const run = /"run":"([^"]+)"/.exec(text)?.[1] ?? "";
    const texts = unwritten.get(run) ?? new Set();
    unwritten.set(run, texts.add(text));
    figures.sends += 1;
    figures.sendsBetweenWritesMax = Math.max(figures.sendsBetweenWritesMax, texts.size);
  };

  return {
    figures,
    onCall({ part, method, args }) {
      const [place, name, body] = args as [string, string, unknown];
      if (part === "queues" && method === "send") onSend(place, name);
      if (part !== "blobs") return;
      if (method === "list")
        onList(place, name, (body as { metadata?: boolean } | undefined)?.metadata === true);
      if ((method === "replace" || method === "create") && name.endsWith("/state.json")) {
        unwritten.delete(name.slice(0, name.indexOf("/")));
      }
    },
  };
}
