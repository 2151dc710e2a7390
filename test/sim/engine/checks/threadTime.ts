import type { Stage } from "../stage.ts";

/** What threads have spent on the packs of a world, plans' samples left out. All in ms. */
export interface ThreadTime {
  readonly spentMs: number;
  /** Of that on packs whose process died before they ended. */
  readonly diedMs: number;
  /** Packs begun, each as often as a thread took it. */
  readonly begun: number;
}

/** `of`: the runs that count; default all. */
export function threadTimeOf({ judge, engine, world }: Stage, of?: readonly string[]): ThreadTime {
  const died = new Map(engine.instances.map((one) => [one.name, one.diedMs()]));
  let [spentMs, diedMs, begun] = [0, 0, 0];
  for (const { task, handling, atMs, endedMs } of judge.begun) {
    const { message } = handling;
    if (task.kind !== "compute" || message?.kind !== "compute") continue;
    if (of?.includes(message.run) === false) continue;
    const deathMs = died.get(handling.instance);
    const ms = (endedMs ?? deathMs ?? world.nowMs()) - atMs;
    begun += 1;
    spentMs += ms;
    if (endedMs === undefined && deathMs !== undefined) diedMs += ms;
  }
  return { spentMs, diedMs, begun };
}
