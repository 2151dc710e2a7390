import type { Names } from "../../../src/engine/model/names.ts";
import type { VirtualWorld } from "../../support/virtualClock.ts";
import type { Call } from "./farService.ts";

/** What is read off all processes' calls about one run. */
export interface RunWatch {
  onAnswer(call: Call & { readonly reply: unknown }): void;
  /** Looks at a queue that brought nothing. */
  emptyPolls(): number;
  /** When the first manifest was written. */
  manifestMs(): number | undefined;
  /** The marker is gone. */
  closed(): boolean;
  /** Partials written in each second since then. */
  perSecond(sinceMs: number): readonly number[];
}

export function runWatch(world: VirtualWorld, names: Names): RunWatch {
  const bySecond: number[] = [];
  let emptyPolls = 0;
  let manifestMs: number | undefined;
  let closed = false;
  return {
    onAnswer({ method, args, reply }) {
      if (method === "receive" && (reply as readonly unknown[]).length === 0) emptyPolls += 1;
      if (method === "remove" && args[0] === names.active) closed = true;
      if (method !== "create") return;
      const name = args[1] as string;
      if (name.endsWith("/manifest.json")) manifestMs ??= world.nowMs();
      if (!name.includes("/parts/")) return;
      const second = Math.floor(world.nowMs() / 1_000);
      bySecond[second] = (bySecond[second] ?? 0) + 1;
    },
    emptyPolls: () => emptyPolls,
    manifestMs: () => manifestMs,
    closed: () => closed,
    perSecond: (sinceMs) =>
      Array.from({ length: Math.max(0, bySecond.length - Math.floor(sinceMs / 1_000)) }, (_, second) => {
        return bySecond[second + Math.floor(sinceMs / 1_000)] ?? 0;
      }),
  };
}
