import type { Client } from "../../../src/engine/client/client.ts";
import { status } from "../../../src/engine/client/status.ts";
import type { Role } from "../../support/engineInstance.ts";
import { simNames as names } from "../../support/engineWorld.ts";
import { otherBuild } from "./builds.ts";
import { checkEnds, isAtMaxCost } from "./checks/leftovers.ts";
import type { SimulationResult, Stage } from "./stage.ts";

/** After its last fault a run ends within `k` × the time that its work takes + `cMs`. */
export interface EndBound {
  readonly idealMs: number;
  readonly k: number;
  readonly cMs: number;
}

/** Of scenarios, whose work takes seconds; many of them let faults go on. */
const scenarioBound: EndBound = { idealMs: 0, k: 1, cMs: 45 * 60_000 };
/** Longer than any process is stopped. */
const stopsEndMs = 45 * 60_000;
/** A dead worker hides its last message for ten minutes, five times at most before it is set aside. */
const drainsWithinMs = 60 * 60_000;

/**
 * No more faults: every run that is not paused or at its max cost has to end, the queues have to run empty, and only what is documented
 * may be left. Every command has its answer then.
 */
export async function quiet(stage: Stage, bound = scenarioBound): Promise<SimulationResult> {
  const { engine, world, judge } = stage;
  const startedMs = world.nowMs();
  const endsWithinMs = bound.k * bound.idealMs + bound.cMs;
  const { ledger } = judge;
  const isOpen = (): boolean =>
    [...ledger.runs.values()].some((run) => {
      const { marker, state } = run;
      const waits = marker?.want === "paused" && state?.paused === true && state.turn === marker.turn;
      return marker !== undefined && !waits && !isAtMaxCost(run);
    });
  await step(stage, () => !isOpen(), endsWithinMs);
  world.tell("checker", "runs ended", {
    tookMs: Math.round(world.nowMs() - startedMs),
    ...bound,
    endsWithinMs,
  });
  await step(stage, () => engine.instances.every((one) => one.isDead() || !one.isStopped()), stopsEndMs);
  await step(stage, () => false, 10_000);
  for (const one of engine.instances) one.kill();
  await drain(stage);
  for (const id of new Set([...ledger.runs.values()].map((run) => run.id))) {
    const run = ledger.current(id, "spec");
    if (run === undefined || (run.lostByHand === true && isAtMaxCost(run))) continue;
    const view = await status(asBuilt(stage, id), id);
    if (view.command?.answer === "pending") judge.report("commands are answered", `${id} has no answer`);
  }
  checkEnds(judge);
  return stage.result();
}

/** Whoever looks at a run at the end is of the build that wrote it. */
function asBuilt({ engine: { client }, judge }: Stage, id: string): Client {
  const isOther = [...judge.ledger.runs.values()].some((run) => run.id === id && run.highest.version > 1);
  return isOther ? { ...client, storage: otherBuild(client.storage) } : client;
}

/** Lets time pass in small steps until `done` holds or something is wrong already. */
async function step(stage: Stage, done: () => boolean, limitMs: number): Promise<void> {
  await stage.world.until(() => done() || stage.judge.violations.length > 0, limitMs);
}

/** Messages that are hidden come back; a last worker of each build that takes them must find nothing to do. */
async function drain(stage: Stage): Promise<void> {
  const { storage } = stage.engine;
  const role: Role = { leads: false, weather: { calm: true, fateOf: () => "arrives" } };
  const isMixed = [...stage.judge.ledger.runs.values()].some((run) => run.highest.version > 1);
  const last = [role, ...(isMixed ? [{ ...role, translated: otherBuild }] : [])].map((one) =>
    stage.start(one),
  );
  const all = [names.packs, names.urgent];
  for (let spentMs = 0; spentMs < drainsWithinMs; spentMs += 30_000) {
    const left = await Promise.all(
      all.map(async (queue) => {
        const stats = await storage.queues.stats(queue);
        return stats.kind === "found" ? stats.approximateCount : 0;
      }),
    );
    if (left.every((count) => count === 0) || stage.judge.violations.length > 0) {
      for (const one of last) one.kill();
      return;
    }
    await step(stage, () => false, 30_000);
  }
  stage.judge.report("every run ends", "the queues do not run empty");
}
