import { workOf } from "../../../../src/engine/model/message.ts";
import { isFinal } from "../../../../src/engine/model/state.ts";
import type { Role } from "../../../support/engineInstance.ts";
import type { FarCall } from "../../../support/farStorage.ts";
import type { DoomedTask } from "../../../support/rangesCode.ts";
import { play, type Script } from "../script.ts";
import { deepTree, type SimulationResult } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";

/** Work that never ends, or that ends its process, each kind of it under the smallest, the default and a large limit. */

const chunks = 13;
const doomedChunk = 5;
const kinds = ["plan", "pack", "node", "finish"] as const;
type Kind = (typeof kinds)[number];
/** From its first begin: three processes die of it, each of which must be missed first. */
const diedMsMax = 150_000;
const limitsMs = [1_000, 300_000, 900_000];

const isDoomed = (kind: Kind, { kind: task, from = 0, to = 0, chunks: folded = 0 }: DoomedTask): boolean => {
  if (kind === "pack") return task === "compute" && from <= doomedChunk && doomedChunk < to;
  if (kind === "node") return task === "fold" && folded > 1 && folded < chunks;
  return task === kind;
};

/** Keeps so many instances alive, as the platform does: one that died is replaced a few seconds later. */
export function platform(script: Script, count: number, role: Role = {}): void {
  const { world, engine } = script;
  for (let one = 0; one < count; one += 1) script.start(role);
  const replace = (): void => {
    const alive = engine.instances.filter((one) => !one.isDead()).length;
    for (let one = alive; one < count && script.replaces; one += 1) script.start(role);
    engine.client.clock.after(1_000 + world.random.number() * 3_000, replace);
  };
  replace();
}

/** When the doomed work of run `r` first began, and how often. */
function doomedIn({ judge }: Script, kind: Kind) {
  const begun = judge.begun.filter(
    ({ task, handling: { message } }) => message?.run === "r" && isDoomed(kind, task),
  );
  const works = new Map<string, number>();
  for (const { handling } of begun) {
    const work = handling.message === undefined ? undefined : workOf(handling.message);
    const name = JSON.stringify(work);
    works.set(name, (works.get(name) ?? 0) + 1);
  }
  return { firstMs: begun[0]?.atMs ?? 0, mostOfOne: Math.max(0, ...works.values()) };
}

async function doomed(
  kind: Kind,
  doom: "hangs" | "kills",
  packLimitMs: number,
  instances: number,
): Promise<SimulationResult> {
  return play({ seed: 50 + instances, tree: deepTree, chunkMs: () => 400, packLimitMs }, async (script) => {
    const { world, judge, engine, broken, must, run } = script;
    broken.doom = (task, id) => (id === "r" && isDoomed(kind, task) ? doom : undefined);
    platform(script, instances, { breakAfterMs: 4_000 });
    await script.submit({ id: "r", chunks, packSize: 1 });
    await script.submit({ id: "beside", chunks: 30, packSize: 1 });
    await script.untilEnded(1, "beside");
    script.mustBe("complete", 1, "beside");
    await script.until(
      "r ends",
      () => isFinal(run()?.state?.phase ?? "planning"),
      doom === "kills" ? 900_000 : 4 * packLimitMs + 600_000,
    );
    script.mustBe("failed");
    const { firstMs, mostOfOne } = doomedIn(script, kind);
    const tookMs = world.nowMs() - firstMs;
    // Once a checker has reported, no more time passes.
    await script.until("its marker is gone", () => run()?.marker === undefined);
    const error = run()?.state?.error?.message ?? "";
    if (doom === "hangs") {
      if (tookMs > 3 * packLimitMs + 120_000)
        judge.report("every run ends in time", `${kind} at its limit took ${Math.round(tookMs / 1_000)} s`);
      if (mostOfOne > 4)
        judge.report("few attempts are made at work that never ends", `${mostOfOne} of one ${kind}`);
      must(/time limit/.test(error), `the failure tells of the limit: ${error}`);
    } else {
      if (tookMs > diedMsMax)
        judge.report(
          "every run ends in time",
          `${kind} that ends processes took ${Math.round(tookMs / 1_000)} s`,
        );
      const dead = engine.instances.filter((one) => one.isDead()).length;
      if (mostOfOne > 6 || (kind !== "node" && dead > 6))
        judge.report(
          "few processes die of one piece of work",
          `${dead} died of ${mostOfOne} attempts at one ${kind}`,
        );
      must(/ended its process 3 times/.test(error), `the failure tells of dead processes: ${error}`);
    }
    script.replaces = false;
    broken.doom = undefined;
  });
}

/**
 * Two packs end the process of the only instance, and end the plan's that times them. Their third attempts meet in one
 * process: the first of them works, but its partial needs five tries; the other one ends the process once more.
 */
const takeTurns = () =>
  play({ seed: 53, chunkMs: () => 400 }, async (script) => {
    const { broken, engine, judge, must } = script;
    const { clock } = engine.client;
    const begun = new Map<number, number>();
    let worked: number | undefined;
    broken.doom = ({ kind, from = 0 }) => {
      if (kind !== "compute") return undefined;
      if (judge.by()?.message?.kind === "plan") return "kills";
      const times = (begun.get(from) ?? 0) + 1;
      begun.set(from, times);
      const instance = engine.instances.at(-1);
      if (times <= 3) clock.after(2_000, () => instance?.kill());
      else worked ??= from;
      return times <= 3 ? "hangs" : worked === from ? undefined : "kills";
    };
    let refusals = 8;
    const fateOf = ({ op, args }: FarCall) => {
      const isLate = worked !== undefined && op === "blobs.create" && String(args[1]).includes("/parts/");
      return isLate && refusals-- > 0 ? "lost request" : "arrives";
    };
    platform(script, 1, { breakAfterMs: 4_000, weather: { calm: false, fateOf } });
    await script.submit({ id: "r", chunks: 2, packSize: 1, tolerate: { chunks: 1 } });
    await script.untilEnded();
    script.mustBe("complete");
    const most = Math.max(0, ...begun.values());
    must(begun.get(0) === 4 || begun.get(1) === 4, `attempts begun: ${[...begun.values()].join(", ")}`);
    must(most <= 5, `attempts begun: ${most}`);
    script.replaces = false;
  });

/** Whoever takes the message of a pack is dead at once, so that no heartbeat tells of it. */
const neverBegun = () =>
  play({ seed: 54, chunkMs: () => 400 }, async (script) => {
    const { engine, must, run } = script;
    let deaths = 0;
    script.onDelivery = ({ message, instance }) => {
      if (message?.kind !== "compute" || message.run !== "r" || message.pack !== doomedChunk) return;
      if (!script.replaces) return;
      deaths += 1;
      engine.instances.find((one) => one.name === instance)?.kill();
    };
    platform(script, 4, { breakAfterMs: 4_000 });
    await script.submit({ id: "r", chunks, packSize: 1 });
    await script.submit({ id: "beside", chunks: 30, packSize: 1 });
    await script.untilEnded(1, "beside");
    script.mustBe("complete", 1, "beside");
    await script.until("r ends", () => isFinal(run()?.state?.phase ?? "planning"), 3_600_000);
    script.mustBe("failed");
    // A message that was lost with its process comes back once, after ten minutes.
    if (deaths > 20) script.judge.report("few processes die of one piece of work", `${deaths} died`);
    must(deaths >= 10, `it failed after ${deaths} deaths`);
    script.replaces = false;
    script.onDelivery = undefined;
  });

const cases = kinds.flatMap((kind) =>
  limitsMs.flatMap((limitMs) => [
    [
      `a ${kind} that never ends, under a limit of ${limitMs / 1_000} s`,
      () => doomed(kind, "hangs", limitMs, 4),
    ] as const,
    [
      `a ${kind} that ends its process, under a limit of ${limitMs / 1_000} s`,
      () => doomed(kind, "kills", limitMs, 4),
    ] as const,
  ]),
);

export const endless: Readonly<Record<string, Scenario>> = {
  "a pack whose process always ends before it has begun": neverBegun,
  "two packs that ended processes do not die of each other": takeTurns,
  ...Object.fromEntries(cases),
  ...Object.fromEntries(
    kinds.map((kind) => [
      `a ${kind} that ends the process of the only instance, which also leads`,
      () => doomed(kind, "kills", 300_000, 1),
    ]),
  ),
};
