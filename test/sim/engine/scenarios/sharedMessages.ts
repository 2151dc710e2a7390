import { workOf } from "../../../../src/engine/model/message.ts";
import { workName } from "../../../../src/engine/model/runBlobs.ts";
import type { FarCall } from "../../../support/farStorage.ts";
import type { Weather } from "../../../support/network.ts";
import type { DoomedTask } from "../../../support/rangesCode.ts";
import { burnNext } from "../burnNext.ts";
import { leaderOnly, play, type Script, workerOnly } from "../script.ts";
import type { SimulationResult } from "../stage.ts";
import { platform } from "./endless.ts";
import type { Scenario } from "./scenarios.ts";

/** Short packs share messages; each of them is computed, recorded and resent as if it had come alone. */

const packs = 200;
/** Behind the packs that are sent one by one because nobody knows yet how long they take. */
const late = 150;

/** Runs that many packs, few of them in flight, so that most are sent once it is known that they are short. */
async function share(script: Script, tolerate?: { readonly chunks: number }): Promise<void> {
  await script.submit({
    ...{ id: "r", chunks: packs, packSize: 1, cap: 60 },
    ...(tolerate === undefined ? {} : { tolerate }),
  });
}

const computed = ({ judge }: Script): number =>
  judge.begun.filter(({ task }) => task.kind === "compute").length;

/** How many messages asked for packs of the run. */
const messagesOf = ({ run }: Script): number => new Set(run()?.sent.map(({ text }) => text)).size;

const has = ({ kind, from = 0, to = 0 }: DoomedTask, chunk: number): boolean =>
  kind === "compute" && from <= chunk && chunk < to;

/** The worker dies at this call, counted from its first one for a pack that shares a message. */
function deathAt(call: number): Promise<SimulationResult> {
  return play({ seed: 78, chunkMs: () => 15 }, async (script) => {
    let calls = 0;
    const isLate = (args: readonly unknown[]): boolean =>
      Number(/parts\/\d+\/(\d+)$/.exec(String(args[1]))?.[1]) > late;
    const weather: Weather<FarCall> = {
      calm: false,
      fateOf({ args }) {
        if (calls > 0 || isLate(args)) calls += 1;
        if (calls !== call) return "arrives";
        return call % 2 === 0 ? "dies before" : "dies after";
      },
    };
    script.start(leaderOnly);
    script.start({ ...workerOnly, weather });
    await share(script);
    await script.until("the worker is dead", () => script.engine.instances[1]?.isDead() === true);
    script.start(workerOnly);
    await script.untilEnded();
    script.mustBe("complete");
  });
}

export const sharedMessages: Readonly<Record<string, Scenario>> = {
  "short packs share messages, and hardly any is computed twice": () =>
    play({ seed: 71, chunkMs: () => 15, calm: true }, async (script) => {
      script.start(leaderOnly);
      script.start(workerOnly);
      script.start(workerOnly);
      await share(script);
      await script.untilEnded();
      script.mustBe("complete");
      script.must(messagesOf(script) < packs / 2, `${messagesOf(script)} messages for ${packs} packs`);
      // The plan computes samples, some of them again.
      if (computed(script) > 1.1 * packs + 40)
        script.judge.report("hardly anything is computed twice", `${computed(script)} of ${packs}`);
    }),

  "a worker dies between two packs of one message": () =>
    play({ seed: 72, chunkMs: () => 15 }, async (script) => {
      let died = false;
      script.broken.doom = (task) => {
        if (died || !has(task, late)) return undefined;
        died = true;
        return "kills";
      };
      script.start(leaderOnly);
      script.start(workerOnly);
      script.start(workerOnly);
      await share(script);
      const startMs = script.world.nowMs();
      await script.untilEnded();
      script.mustBe("complete");
      script.must(died, "a worker died");
      const tookMs = script.world.nowMs() - startMs;
      if (tookMs > 30_000) script.judge.report("every run ends in time", `${tookMs} ms after one death`);
    }),

  "a worker dies at each of its calls for a message of many packs, and nothing is lost": async () => {
    let last = await deathAt(1);
    for (let call = 2; call <= 40 && last.violations.length === 0; call += 1) last = await deathAt(call);
    return last;
  },

  "a pack that ends its process costs none of those that share its message": () =>
    play({ seed: 73, chunkMs: () => 15 }, async (script) => {
      script.broken.doom = (task) => (has(task, late) ? "kills" : undefined);
      platform(script, 3, { breakAfterMs: 4_000 });
      await share(script, { chunks: 1 });
      await script.until("r ends", () => script.run()?.marker === undefined, 20_000_000);
      script.mustBe("complete");
      const { folded } = script.run()?.manifests.get(1) ?? {};
      script.must(folded === packs - 1, `only its own chunk is missing: ${folded} are there`);
      const dead = script.engine.instances.filter((one) => one.isDead()).length;
      if (dead > 6) script.judge.report("few processes die of one piece of work", `${dead} died`);
      script.replaces = false;
      script.broken.doom = undefined;
    }),

  "a pack that throws, among others of its message, fails alone": () =>
    play({ seed: 74, chunkMs: () => 15 }, async (script) => {
      script.broken.chunks.add(late);
      script.start(leaderOnly);
      script.start(workerOnly);
      await share(script, { chunks: 1 });
      await script.untilEnded();
      script.mustBe("complete");
      script.must(script.run()?.manifests.get(1)?.folded === packs - 1, "only its own chunk is missing");
    }),

  "packs that suddenly take long are shared out among the workers": () =>
    play({ seed: 75, chunkMs: (chunk) => (chunk < late ? 15 : 20_000) }, async (script) => {
      script.start(leaderOnly);
      for (let workers = 0; workers < 5; workers += 1) script.start(workerOnly);
      await share(script);
      const startMs = script.world.nowMs();
      await script.untilEnded();
      script.mustBe("complete");
      const { judge, world } = script;
      const tookMs = world.nowMs() - startMs;
      // Samples of the plan, five waves of 50 packs of 20 s on ten threads, one of resends, and the first and last in part.
      if (tookMs > 200_000) judge.report("every run ends in time", `it took ${Math.round(tookMs)} ms`);
      const long = judge.begun.filter(({ task }) => task.kind === "compute" && (task.from ?? 0) >= late);
      const most = Math.max(
        ...[...Map.groupBy(long, ({ handling }) => handling).values()].map((of) => of.length),
      );
      if (most > 1)
        judge.report("every run ends in time", `one message took the time of ${most} packs of 20 s`);
    }),

  "a pause in the middle of a message of many packs": () =>
    play({ seed: 76, chunkMs: () => 15, calm: true }, async (script) => {
      script.start(leaderOnly);
      script.start(workerOnly);
      await share(script);
      await script.until("half is done", () => (script.run()?.parts.size ?? 0) > packs / 2);
      await script.tell("pause");
      await script.world.advance(30_000);
      const done = script.run()?.parts.size ?? 0;
      script.must(done < packs, `a pause keeps packs from being begun: ${done}`);
      await script.tell("resume");
      await script.untilEnded();
      script.mustBe("complete");
    }),

  "a message of many packs that is burnt into poison unrun is replaced": () =>
    play({ seed: 77, chunkMs: () => 15 }, async (script) => {
      script.start(leaderOnly);
      script.start(workerOnly);
      const burnt = burnNext(script, "until", 1);
      await share(script);
      await script.untilEnded();
      script.mustBe("complete");
      script.must(burnt() === 1, "a shared message was burnt");
      const { failures, sent } = script.run() ?? { failures: new Map(), sent: [] };
      const recorded = new Set([...failures.values()].map(({ work }) => workName(work)));
      const hasRecord = (one: (typeof sent)[number]) =>
        recorded.has(workName(workOf(one.message) ?? { kind: "plan" }));
      const burntTexts = new Set(sent.filter(hasRecord).map(({ text }) => text));
      const without = sent.filter((one) => burntTexts.has(one.text) && !hasRecord(one));
      script.must(burntTexts.size > 0 && without.length === 0, `${without.length} packs have no record`);
    }),
};
