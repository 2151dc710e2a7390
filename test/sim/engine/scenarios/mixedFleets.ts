import { submit } from "../../../../src/engine/client/submit.ts";
import { requestOf } from "../../../support/engineWorld.ts";
import { laterBuild, newerVersion, readingBuild } from "../builds.ts";
import { leaderOnly, play, type Script, workerOnly } from "../script.ts";
import { deepTree, type SimulationResult } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";

/** Fleets of builds of which some read the next version and some write it (docs/UPGRADE.md). */

const takesOver = { breakAfterMs: 4_000 };
const old = takesOver;
const reading = { ...takesOver, translated: readingBuild };
const next = { ...takesOver, translated: newerVersion };
const later = { translated: laterBuild };

/** A killed fleet of three needs so long for what is left of a run at most. */
const endsWithinMs = 5 * 60_000;

async function mustEndSoon(script: Script, ...ids: readonly string[]): Promise<void> {
  const fromMs = script.world.nowMs();
  for (const id of ids) await script.untilEnded(1, id);
  for (const id of ids) script.mustBe("complete", 1, id);
  const tookMs = script.world.nowMs() - fromMs;
  script.must(tookMs < endsWithinMs, `the runs ended ${tookMs} ms after the last change`);
  const foreign = script.engine.log.filter(({ event }) => event === "needs-other-version");
  script.must(foreign.length === 0, "every instance read what it met");
}

/** From one build to its neighbor, instance by instance; leaders and workers are killed or asked to stop. */
async function roll(script: Script, to: typeof old | typeof reading): Promise<void> {
  const { world, engine } = script;
  const before = engine.instances.filter((one) => !one.isDead());
  for (const one of before) {
    script.start(to);
    await world.advance(world.random.number() * 8_000);
    if (world.random.number() < 0.5) one.kill();
    else one.terminate();
    await world.advance(world.random.number() * 4_000);
  }
}

const rolls = (seed: number, fleet: ReadonlyArray<typeof old | typeof reading>, version: number) =>
  play({ seed, tree: deepTree, chunkMs: () => 2_500 }, async (script) => {
    const { world, run, must } = script;
    const [first = old, ...others] = fleet;
    for (let count = 0; count < 3; count += 1) script.start(first);
    const { client } = script.user({ newer: first === next });
    const request = requestOf({ id: "r", chunks: 250, packSize: 1, cap: 12 });
    await world.finish(submit(client, request));
    await script.until("some packs are done", () => (run()?.parts.size ?? 0) >= 4);
    for (const build of others) await roll(script, build);
    must(run()?.state?.phase !== "complete", "the run lasts beyond the last change");
    const { client: last } = script.user({ newer: others.at(-1) === next });
    await world.finish(submit(last, requestOf({ id: "s", chunks: 20, packSize: 1 })));
    await mustEndSoon(script, "r", "s");
    must(run("s")?.highest.version === version, `what the last build writes has version ${version}`);
  });

/** Neighboring builds side by side, the one or the other first, and again and again one of them is killed and replaced. */
async function mixed(): Promise<SimulationResult> {
  let last: SimulationResult | undefined;
  for (let seed = 300; seed < 312; seed += 1) {
    last = await play({ seed, tree: deepTree, chunkMs: () => 800 }, async (script) => {
      const { world, engine } = script;
      const { random } = world;
      const pair = seed % 2 === 0 ? [old, reading] : [reading, next];
      const draw = () => pair[Math.floor(random.number() * 2)] ?? old;
      for (const build of [...pair, draw()]) script.start(build);
      const ids = ["r", "s"];
      for (const id of ids) {
        const { client } = script.user({ newer: seed % 2 === 1 && random.number() < 0.5 });
        await world.finish(submit(client, requestOf({ id, chunks: 60, packSize: 1, cap: 6 })));
      }
      for (let kills = 0; kills < 6; kills += 1) {
        await world.advance(random.number() * 6_000);
        const alive = engine.instances.filter((one) => !one.isDead());
        const leader = alive.find((one) => one.leading());
        (random.number() < 0.6 ? leader : alive[Math.floor(random.number() * alive.length)])?.kill();
        script.start(draw());
      }
      await mustEndSoon(script, ...ids);
    });
    if (last.violations.length > 0) break;
  }
  return last as SimulationResult;
}

export const mixedFleets: Readonly<Record<string, Scenario>> = {
  "a fleet is upgraded by two releases, one after the other, in the middle of a run": () =>
    rolls(310, [old, reading, next], 2),
  "a fleet goes back one release in the middle of a run": () => rolls(311, [next, reading], 1),
  "fleets of two neighboring releases, with kills": mixed,

  "a fleet that goes back two releases leaves what it cannot read, and others go on": () =>
    play({ seed: 320, chunkMs: () => 800 }, async (script) => {
      const { world, run, must } = script;
      const first = script.start(next);
      const { client } = script.user({ newer: true });
      await world.finish(submit(client, requestOf({ id: "r", chunks: 40, packSize: 1, cap: 4 })));
      await script.until("some packs are done", () => (run()?.parts.size ?? 0) >= 4);
      first.kill();
      const back = script.start(old);
      await script.submit({ id: "s", chunks: 20, packSize: 1 });
      await script.untilEnded(1, "s");
      script.mustBe("complete", 1, "s");
      await world.advance(120_000);
      must(run()?.state?.phase === "computing", "what the old release does not read is left as it is");
      script.start(reading);
      await world.advance(30_000);
      back.terminate();
      await script.untilEnded();
      script.mustBe("complete");
    }),

  "an instance that does not read an older release's messages gives them back": () =>
    play({ seed: 321, chunkMs: () => 500 }, async (script) => {
      const { world, run, must } = script;
      script.start(leaderOnly);
      for (let count = 0; count < 2; count += 1) script.start({ ...workerOnly, ...later });
      await script.submit({ id: "r", chunks: 12, packSize: 1 });
      await world.advance(120_000);
      must(run()?.plan === undefined, "nobody plans what it cannot read");
      script.start(workerOnly);
      await script.untilEnded();
      script.mustBe("complete");
      must((run()?.failures.size ?? 1) === 0, "nothing was taken for broken");
    }),

  "an instance that does not read an older release's runs leaves them to others and tells": () =>
    play({ seed: 322, chunkMs: () => 800 }, async (script) => {
      const { world, run, must } = script;
      const first = script.start(old);
      await script.submit({ id: "r", chunks: 40, packSize: 1, cap: 4 });
      await script.until("some packs are done", () => (run()?.parts.size ?? 0) >= 4);
      first.kill();
      const far = script.start({ ...takesOver, ...later });
      await world.advance(120_000);
      must(run()?.state?.phase === "computing", "the run is as its leader left it");
      const told = script.engine.log.some(
        ({ event, fields }) => event === "needs-other-version" && fields["run"] === "r",
      );
      must(told, "it is told");
      script.start(old);
      await world.advance(30_000);
      far.terminate();
      await script.untilEnded();
      script.mustBe("complete");
    }),
};
