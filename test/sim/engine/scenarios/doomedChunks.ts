import { isFinal } from "../../../../src/engine/model/state.ts";
import type { SubmitRequest } from "../../../support/engineWorld.ts";
import { play, type Script } from "../script.ts";
import type { SimulationResult } from "../stage.ts";
import { platform } from "./endless.ts";
import type { Scenario } from "./scenarios.ts";

/** Rules 16 and 32: chunks that never end, or end their thread or their process, within packs of several. */

type Doom = "hangs" | "exits" | "kills";
const packLimitMs = 20_000;

/** What ends of one pack may take, and how many processes may die of it, for each of its doomed chunks. */
const mostMs = { hangs: 3 * packLimitMs + 60_000, exits: 30_000, kills: 120_000 };
const mostDeaths = 6;

interface Play {
  readonly seed: number;
  readonly doomed: Readonly<Record<number, Doom>>;
  readonly request?: Partial<SubmitRequest>;
  readonly instances?: number;
  readonly during?: (script: Script) => Promise<void>;
}

/** Plays a run of four packs to its end, and tells how it ended. */
async function doomedChunks(
  { seed, doomed, request, instances = 3, during }: Play,
  check: (script: Script, told: { lost: string; error: string }) => void | Promise<void>,
): Promise<SimulationResult> {
  return play({ seed, chunkMs: () => 4, packLimitMs }, async (script) => {
    const { world, engine, judge, run } = script;
    for (const [chunk, doom] of Object.entries(doomed)) script.broken.doomed.set(Number(chunk), doom);
    platform(script, instances, { breakAfterMs: 4_000 });
    await script.submit({ id: "r", chunks: 64, packSize: 16, tolerate: { chunks: 4 }, ...request });
    await during?.(script);
    const all = Object.values(doomed);
    const limitMs = all.reduce((sum, doom) => sum + mostMs[doom], 60_000);
    const sinceMs = world.nowMs();
    await script.until("r ends", () => isFinal(run()?.state?.phase ?? "planning"), 2 * limitMs);
    const tookMs = world.nowMs() - sinceMs;
    if (tookMs > limitMs)
      judge.report("every run ends in time", `doomed chunks took ${Math.round(tookMs / 1_000)} s`);
    const dead = engine.instances.filter((one) => one.isDead()).length;
    const killers = all.filter((doom) => doom === "kills").length;
    if (during === undefined && dead > mostDeaths * killers)
      judge.report("few processes die of one piece of work", `${dead} died of ${killers} chunks`);
    await script.until("its marker is gone", () => run()?.marker === undefined);
    const gaps = run()?.manifests.get(run()?.state?.generation ?? 1)?.missing ?? [];
    const lost = gaps.map(({ from, to }) => `${from}-${to}`).join();
    await check(script, { lost, error: run()?.state?.error?.message ?? "" });
    script.replaces = false;
    script.broken.doomed.clear();
  });
}

const loses = (lost: string) => (script: Script, told: { lost: string; error: string }) => {
  script.mustBe("complete");
  script.must(told.lost === lost, `the result lacks ${told.lost}, and not ${lost}`);
};

const fails = (why: RegExp) => (script: Script, told: { error: string }) => {
  script.mustBe("failed");
  script.must(why.test(told.error), `it says: ${told.error}`);
};

const words: Readonly<Record<Doom, readonly [what: string, loses: string, chunks: string, why: RegExp]>> = {
  hangs: ["never ends", "is all", "21-22", /^chunk 21: the time limit/],
  exits: ["ends its thread", "is all", "21-22", /^chunk 21: it left/],
  kills: [
    "ends its process",
    "costs its pack",
    "16-32",
    /^chunks 16–31: ended its process 3 times, isolated/,
  ],
};
const wholePack = { tolerate: { chunks: 16 } };

const each = (Object.keys(words) as Doom[]).flatMap((doom, at): [string, Scenario][] => [
  [
    `a chunk that ${words[doom][0]} ${words[doom][1]} that its tolerant run loses, and the retry computes its pack whole`,
    () =>
      doomedChunks({ seed: 80 + at, doomed: { 21: doom }, request: wholePack }, async (script, told) => {
        loses(words[doom][2])(script, told);
        script.replaces = false;
        script.broken.doomed.clear();
        await script.tell("retry");
        await script.untilEnded(2);
        script.must(script.run()?.manifests.get(2)?.complete === true, "the retry is complete");
      }),
  ],
  [
    `a chunk that ${words[doom][0]} fails a run that tolerates nothing, which names it`,
    () =>
      doomedChunks(
        { seed: 83 + at, doomed: { 21: doom }, request: { tolerate: undefined } },
        fails(words[doom][3]),
      ),
  ],
]);

/** Ends the leader as soon as a message that excludes a chunk was sent, so that the next one goes on from the state. */
const leaderDies = async (script: Script): Promise<void> => {
  const { run, engine } = script;
  await script.until("a send excludes a chunk", () =>
    (run()?.sent ?? []).some(({ message }) => message.kind === "compute" && message.excluded !== undefined),
  );
  const holder = run()?.state?.terms.at(-1)?.holder;
  engine.instances.find((one) => one.name === holder)?.kill();
};

/** Loses the first message that excludes a chunk, with its process. */
const messagesAreLost = async (script: Script): Promise<void> => {
  const { engine } = script;
  let lost = 0;
  script.onDelivery = ({ message, instance }) => {
    if (message?.kind !== "compute" || message.excluded === undefined || lost > 0) return;
    lost += 1;
    engine.instances.find((one) => one.name === instance)?.kill();
  };
};

/** A pause as soon as this is so. */
const pausesAfter =
  (what: string, isSo: (script: Script) => boolean) =>
  async (script: Script): Promise<void> => {
    await script.until(what, () => isSo(script));
    await script.tell("pause");
    await script.world.advance(30_000);
    await script.tell("resume");
  };

const deathsIn = ({ run }: Script): number =>
  [...(run()?.failures.values() ?? [])].filter(({ failure }) => failure.code === "process-ended").length;

export const doomedChunkScenarios: Readonly<Record<string, Scenario>> = {
  ...Object.fromEntries(each),
  "a chunk that ends the process of the only instance costs its pack": () =>
    doomedChunks({ seed: 90, doomed: { 21: "kills" }, instances: 1, request: wholePack }, loses("16-32")),
  "several doomed chunks of one pack are found one after the other": () =>
    doomedChunks({ seed: 92, doomed: { 17: "hangs", 25: "exits", 31: "hangs" } }, loses("17-18,25-26,31-32")),
  "a chunk that ends its process costs the pack of which others are excluded": () =>
    doomedChunks({ seed: 91, doomed: { 17: "hangs", 25: "kills" }, request: wholePack }, loses("16-32")),
  "doomed chunks beside one that throws are lost with it": () =>
    doomedChunks(
      {
        seed: 93,
        doomed: { 17: "hangs", 20: "exits" },
        during: async ({ broken }) => void broken.chunks.add(30),
      },
      loses("17-18,20-21,30-31"),
    ),
  "more doomed chunks than the run tolerates fail it, and are not all excluded": () =>
    doomedChunks(
      { seed: 94, doomed: { 17: "exits", 18: "exits", 19: "exits" }, request: { tolerate: { chunks: 2 } } },
      fails(/^more than 2 of 64 chunks failed; chunk 19: it left/),
    ),
  "a pack of more doomed chunks than are excluded fails whole": () =>
    doomedChunks(
      {
        seed: 95,
        doomed: Object.fromEntries([17, 18, 19, 20, 21, 22, 23, 24, 25].map((chunk) => [chunk, "exits"])),
        request: { tolerate: { percent: 50 } },
      },
      loses("16-32"),
    ),
  "a new leader excludes what the one before excluded": () =>
    doomedChunks(
      { seed: 96, doomed: { 17: "hangs", 21: "hangs" }, during: leaderDies },
      loses("17-18,21-22"),
    ),
  "a process that dies with a pack of which a chunk is excluded costs one more limit": () =>
    doomedChunks({ seed: 97, doomed: { 21: "hangs" }, during: messagesAreLost }, (script, told) => {
      loses("21-22")(script, told);
      const ends = [...(script.run()?.failures.values() ?? [])].map(({ failure }) => failure);
      const limits = ends.filter(({ code, gaps }) => code === "time-limit" && gaps === undefined).length;
      // The last pack of a run is doubled while it is slow.
      script.must(limits <= 4, `it reached its time limit ${limits} times`);
    }),
  "a doomed chunk is lost alone through a pause": () =>
    doomedChunks(
      {
        seed: 98,
        doomed: { 21: "hangs" },
        during: pausesAfter("the first limit", ({ run }) => (run()?.failures.size ?? 0) > 0),
      },
      loses("21-22"),
    ),
  "a pause between deaths forgets none of them": () =>
    doomedChunks(
      {
        ...{ seed: 91, doomed: { 21: "kills" }, request: wholePack },
        during: pausesAfter("two deaths", (script) => deathsIn(script) === 2),
      },
      (script, told) => {
        loses("16-32")(script, told);
        script.must(deathsIn(script) === 3, `${deathsIn(script)} processes died alone`);
      },
    ),
};
