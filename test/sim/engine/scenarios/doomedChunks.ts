import { isFinal } from "../../../../src/engine/model/state.ts";
import type { SubmitRequest } from "../../../support/engineWorld.ts";
import { play, type Script } from "../script.ts";
import type { SimulationResult } from "../stage.ts";
import { platform } from "./endless.ts";
import type { Scenario } from "./scenarios.ts";

/** Rule 32: chunks that never end, or end their thread or their process, within packs of several. */

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
    await script.until("r ends", () => isFinal(run()?.state?.phase ?? "planning"), 3_600_000);
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

const words: Readonly<Record<Doom, string>> = {
  hangs: "never ends",
  exits: "ends its thread",
  kills: "ends its process",
};
const said: Readonly<Record<Doom, RegExp>> = {
  hangs: /^chunk 21: the time limit/,
  exits: /^chunk 21: it left/,
  kills: /^chunk 21: ended its process 3 times, alone/,
};

const each = (Object.keys(words) as Doom[]).flatMap((doom, at): [string, Scenario][] => [
  [
    `a chunk that ${words[doom]} is all that its tolerant run loses, and the retry computes its pack whole`,
    () =>
      doomedChunks({ seed: 80 + at, doomed: { 21: doom } }, async (script, told) => {
        loses("21-22")(script, told);
        script.replaces = false;
        script.broken.doomed.clear();
        await script.tell("retry");
        await script.untilEnded(2);
        script.must(script.run()?.manifests.get(2)?.complete === true, "the retry is complete");
      }),
  ],
  [
    `a chunk that ${words[doom]} fails a run that tolerates nothing, which names it`,
    () =>
      doomedChunks(
        { seed: 83 + at, doomed: { 21: doom }, request: { tolerate: undefined } },
        fails(said[doom]),
      ),
  ],
]);

/** Ends the leader as soon as a message without a chunk was sent, so that the next one goes on from the state. */
const leaderDies = async (script: Script): Promise<void> => {
  const { run, engine } = script;
  await script.until("a send leaves a chunk out", () =>
    (run()?.sent ?? []).some(({ message }) => message.kind === "compute" && message.leftOut !== undefined),
  );
  const holder = run()?.state?.terms.at(-1)?.holder;
  engine.instances.find((one) => one.name === holder)?.kill();
};

/** Loses each message of a send that leaves a chunk out, once. */
const messagesAreLost = async (script: Script): Promise<void> => {
  const { engine } = script;
  let lost = 0;
  script.onDelivery = ({ message, instance }) => {
    if (message?.kind !== "compute" || message.leftOut === undefined || lost > 0) return;
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

/** Somebody ends the process that has come to chunk 700 once, after so many deaths of the pack. */
const killedByHand =
  (after: number) =>
  async (script: Script): Promise<void> => {
    const { broken } = script;
    await script.until("as many deaths", () => deathsIn(script) >= after);
    broken.doomed.set(700, "kills");
    await script.until("one by hand", () => deathsIn(script) > after);
    broken.doomed.delete(700);
  };

const byHand = [0, 1, 2].map((after): [string, Scenario] => [
  `a kill by hand after ${after} deaths of a chunk that ends its process leaves it the only loss`,
  () =>
    doomedChunks(
      {
        seed: 99,
        doomed: { 1234: "kills" },
        request: { chunks: 8_000, packSize: 2_000, tolerate: { chunks: 1 } },
        during: killedByHand(after),
      },
      loses("1234-1235"),
    ),
]);

export const doomedChunkScenarios: Readonly<Record<string, Scenario>> = {
  ...Object.fromEntries(each),
  ...Object.fromEntries(byHand),
  "a chunk that ends the process of the only instance is all that its tolerant run loses": () =>
    doomedChunks({ seed: 90, doomed: { 21: "kills" }, instances: 1 }, loses("21-22")),
  "three deaths find one chunk of a pack of two thousand": () =>
    doomedChunks(
      { seed: 91, doomed: { 1234: "kills" }, request: { chunks: 8_000, packSize: 2_000 } },
      loses("1234-1235"),
    ),
  "several doomed chunks of one pack are found one after the other": () =>
    doomedChunks(
      { seed: 92, doomed: { 17: "hangs", 18: "kills", 25: "exits", 31: "hangs" } },
      loses("17-19,25-26,31-32"),
    ),
  "doomed chunks beside one that throws leave out all of them": () =>
    doomedChunks(
      {
        seed: 93,
        doomed: { 17: "hangs", 20: "exits" },
        during: async ({ broken }) => void broken.chunks.add(30),
      },
      loses("17-18,20-21,30-31"),
    ),
  "more doomed chunks than the run tolerates fail it, and are not all left out": () =>
    doomedChunks(
      { seed: 94, doomed: { 17: "exits", 18: "exits", 19: "exits" }, request: { tolerate: { chunks: 2 } } },
      fails(/^more than 2 of 64 chunks failed; chunk 19: it left/),
    ),
  "a pack of more doomed chunks than are left out fails whole": () =>
    doomedChunks(
      {
        seed: 95,
        doomed: Object.fromEntries([17, 18, 19, 20, 21, 22, 23, 24, 25].map((chunk) => [chunk, "exits"])),
        request: { tolerate: { percent: 50 } },
      },
      loses("16-32"),
    ),
  "a new leader goes on with what the one before left out": () =>
    doomedChunks(
      { seed: 96, doomed: { 17: "hangs", 21: "hangs" }, during: leaderDies },
      loses("17-18,21-22"),
    ),
  "a process that dies with a pack of which a chunk is left out leaves it left out": () =>
    doomedChunks({ seed: 97, doomed: { 21: "hangs" }, during: messagesAreLost }, (script, told) => {
      loses("21-22")(script, told);
      const ends = [...(script.run()?.failures.values() ?? [])].map(({ failure }) => failure);
      const limits = ends.filter(({ code, gaps }) => code === "time-limit" && gaps === undefined).length;
      script.must(limits === 2, `it reached its time limit ${limits} times`);
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
  "a pause between deaths loses nothing of what they have found": () =>
    doomedChunks(
      {
        seed: 91,
        doomed: { 1234: "kills" },
        request: { chunks: 8_000, packSize: 2_000 },
        during: pausesAfter("two deaths", (script) => deathsIn(script) === 2),
      },
      loses("1234-1235"),
    ),
  "a pause in which the last limit is reached costs no further one": () =>
    doomedChunks(
      {
        seed: 98,
        doomed: { 21: "hangs" },
        during: pausesAfter("the first limit", ({ run }) => (run()?.failures.size ?? 0) > 0),
      },
      (script, told) => {
        loses("21-22")(script, told);
        const limits = [...(script.run()?.failures.values() ?? [])].filter(
          ({ failure }) => failure.gaps === undefined,
        ).length;
        script.must(limits === 2, `${limits} sends reached their limit`);
      },
    ),
  "a pause after a chunk was left out leaves it left out": () =>
    doomedChunks(
      {
        seed: 91,
        doomed: { 1234: "kills", 1900: "hangs" },
        request: { chunks: 8_000, packSize: 2_000 },
        during: pausesAfter("a send leaves a chunk out", ({ run }) =>
          (run()?.sent ?? []).some(
            ({ message }) => message.kind === "compute" && message.leftOut !== undefined,
          ),
        ),
      },
      loses("1234-1235,1900-1901"),
    ),
};
