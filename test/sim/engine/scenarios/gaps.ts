import { encodeMessage, type WorkMessage } from "../../../../src/engine/model/message.ts";
import { hopelessCode } from "../checks/reasons.ts";
import { play, type Script } from "../script.ts";
import { deepTree } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";

/** Rule 32: chunks that fail within packs of several. */

/** Chunks that the result of a generation lacks. */
const missing = ({ run }: Script, generation = 1): string =>
  (run()?.manifests.get(generation)?.missing ?? []).map(({ from, to }) => `${from}-${to}`).join();

const computed = ({ run }: Script, generation: number): string => {
  const sent = run()?.sent.filter(({ message }) => message.gen === generation) ?? [];
  const packs = sent.flatMap(({ message }) => (message.kind === "compute" ? [message.pack] : []));
  return [...new Set(packs)].sort((a, b) => a - b).join();
};

/** The message of a pack as its leader sent it first. */
function messageOf({ run }: Script, pack: number): WorkMessage {
  const sent = run()?.sent.find(({ message }) => message.kind === "compute" && message.pack === pack);
  if (sent === undefined) throw new Error(`pack ${pack} was never sent`);
  return sent.message;
}

/** A queue may hand over a message twice, the second time late. */
const deliverAgain = async ({ engine, world }: Script, message: WorkMessage): Promise<void> => {
  const { storage, names } = engine.client;
  await world.finish(storage.queues.send(names.urgent, encodeMessage(message)));
};

/** How often each chunk was computed since the run was planned. */
function counted() {
  const times = new Map<number, number>();
  const chunkMs = (chunk: number): number => {
    times.set(chunk, (times.get(chunk) ?? 0) + 1);
    return 50;
  };
  const submit = async (script: Script, request: Parameters<Script["submit"]>[0]): Promise<void> => {
    await script.submit(request);
    // Samples of the plan are computed and thrown away.
    await script.until("it is planned", () => script.run()?.plan !== undefined);
    times.clear();
  };
  return { times, chunkMs, submit };
}

/** Of chunks below `chunks` all but `bad`: those that were not computed exactly once. */
const notOnce = (times: ReadonlyMap<number, number>, chunks: number, bad: readonly number[]): string =>
  Array.from({ length: chunks }, (_, chunk) => chunk)
    .filter((chunk) => !bad.includes(chunk) && times.get(chunk) !== 1)
    .map((chunk) => `${chunk} ${times.get(chunk) ?? 0} times`)
    .join();

const keptBlobs = ({ run }: Script): number =>
  [...(run()?.blobs.keys() ?? [])].filter((name) => name.includes("/kept/")).length;

const hasGaps = ({ run }: Script): boolean =>
  run()?.state?.chunksFailed === 1 && run()?.state?.packsFailed === 0;

export const gaps: Readonly<Record<string, Scenario>> = {
  "one bad chunk of a tolerant run loses one chunk, and the retry computes its pack alone": () =>
    play({ seed: 41 }, async (script) => {
      script.start({ breakAfterMs: 4_000 });
      script.broken.chunks.add(19);
      await script.submit({ id: "r", chunks: 60, packSize: 8, tolerate: { chunks: 1 } });
      await script.untilEnded(1);
      script.mustBe("complete");
      script.must(missing(script) === "19-20", `the result lacks ${missing(script)}`);
      script.broken.chunks.clear();
      await script.tell("retry");
      await script.untilEnded(2);
      script.mustBe("complete", 2);
      script.must(missing(script, 2) === "", "nothing is missing in the end");
      script.must(computed(script, 2) === "2", `the retry computes ${computed(script, 2)}`);
    }),

  "a retry of a run that failed at a chunk computes no other chunk twice": () => {
    const { times, chunkMs, submit } = counted();
    return play({ seed: 55, chunkMs }, async (script) => {
      script.start({ breakAfterMs: 4_000 });
      script.broken.chunks.add(3);
      await submit(script, { id: "r", chunks: 32, packSize: 32, retryAfterS: [0] });
      await script.untilEnded(1);
      script.mustBe("failed");
      script.must(times.get(31) === undefined, "the pack was computed to its end before the run failed");
      script.must(keptBlobs(script) === 1, "what was computed is kept");
      script.broken.chunks.clear();
      const before = times.get(3) ?? 0;
      await script.tell("retry");
      await script.untilEnded(2);
      script.mustBe("complete", 2);
      script.must(missing(script, 2) === "", "nothing is missing in the end");
      script.must(times.get(3) === before + 1, "the chunk that failed was computed once more");
      script.must(notOnce(times, 32, [3]) === "", `chunks were computed: ${notOnce(times, 32, [3])}`);
      script.must(keptBlobs(script) === 0, "nothing is kept of a pack that is whole");
    });
  },

  "a retry of a tolerant run computes the chunks that failed, also where one of them fails again": () => {
    const { times, chunkMs, submit } = counted();
    return play({ seed: 56, tree: deepTree, large: true, chunkMs }, async (script) => {
      const { broken } = script;
      script.start({ breakAfterMs: 4_000 });
      const bad = [19, 22, 40];
      for (const chunk of bad) broken.chunks.add(chunk);
      await submit(script, {
        ...{ id: "r", chunks: 61, packSize: 7, list: true, retryAfterS: [0] },
        tolerate: { chunks: 3 },
      });
      await script.untilEnded(1);
      broken.chunks.delete(22);
      await script.tell("retry");
      await script.untilEnded(2);
      script.must(missing(script, 2) === "19-20,40-41", `the retry lacks ${missing(script, 2)}`);
      broken.chunks.clear();
      await script.tell("retry");
      await script.untilEnded(3);
      script.must(missing(script, 3) === "", "nothing is missing in the end");
      script.must(notOnce(times, 61, bad) === "", `chunks were computed: ${notOnce(times, 61, bad)}`);
      script.must(keptBlobs(script) === 0, "nothing is kept of packs that are whole");
    });
  },

  "an attempt after a wait of minutes computes the chunk that threw, and no other again": () => {
    const { times, chunkMs, submit } = counted();
    return play({ seed: 57, chunkMs }, async (script) => {
      script.start({ breakAfterMs: 4_000 });
      script.broken.chunks.add(3);
      script.onDelivery = ({ message }) => {
        if ((message?.tries ?? 0) > 1) script.broken.chunks.clear();
      };
      await submit(script, { id: "r", chunks: 16, packSize: 16, retryAfterS: [120] });
      await script.untilEnded(1);
      script.mustBe("complete");
      script.must(times.get(3) === 3, `the chunk that threw was computed ${times.get(3)} times`);
      script.must(notOnce(times, 16, [3]) === "", `chunks were computed: ${notOnce(times, 16, [3])}`);
      script.must(keptBlobs(script) === 0, "nothing is kept of a pack that is whole");
    });
  },

  "a run that tolerates nothing fails at its first bad chunk and names it, and no partial has gaps": () =>
    play({ seed: 42, chunkMs: () => 20 }, async (script) => {
      script.start({ breakAfterMs: 4_000 });
      script.broken.chunks.add(19);
      await script.submit({ id: "r", chunks: 64, packSize: 8 });
      await script.untilEnded(1);
      script.mustBe("failed");
      script.must(script.run()?.gapped.size === 0, "there are partials with gaps");
      const why = script.run()?.state?.error?.message ?? "";
      script.must(/^chunk 19: /.test(why), `it says ${why}`);
    }),

  "more bad chunks in a pack than the run tolerates fail it": () =>
    play({ seed: 43 }, async (script) => {
      script.start({ breakAfterMs: 4_000 });
      for (const chunk of [17, 19, 22]) script.broken.chunks.add(chunk);
      await script.submit({ id: "r", chunks: 64, packSize: 8, tolerate: { chunks: 2 } });
      await script.untilEnded(1);
      script.mustBe("failed");
      const why = script.run()?.state?.error?.message ?? "";
      script.must(/^more than 2 of 64 chunks failed; chunk 17: /.test(why), `it says ${why}`);
    }),

  "chunks that fail always or at times, in shards of two packs of any size": () =>
    play({ seed: 44, tree: deepTree, large: true, chunkMs: () => 40 }, async (script) => {
      const { broken } = script;
      for (let count = 0; count < 3; count += 1) script.start({ breakAfterMs: 4_000 });
      for (const chunk of [0, 33, 34, 35, 36, 71]) broken.chunks.add(chunk);
      for (let chunk = 3; chunk < 72; chunk += 4) broken.flaky.set(chunk, 0.6);
      await script.submit({ id: "r", chunks: 72, packSize: 5, list: true, tolerate: { percent: 60 } });
      await script.untilEnded(1);
      script.mustBe("complete");
      const lost = script.run()?.manifests.get(1)?.missing ?? [];
      script.must(
        [...broken.chunks].every((chunk) => lost.some(({ from, to }) => from <= chunk && chunk < to)),
        `the result lacks ${missing(script)}`,
      );
      script.must((script.run()?.manifests.get(1)?.folded ?? 0) >= 48, "chunks that never fail are folded");
      broken.flaky.clear();
      broken.chunks.delete(0);
      await script.tell("retry");
      await script.untilEnded(2);
      script.must(missing(script, 2) === "33-37,71-72", `the retry lacks ${missing(script, 2)}`);
      broken.chunks.clear();
      await script.tell("retry");
      await script.untilEnded(3);
      script.must(missing(script, 3) === "", "nothing is missing in the end");
    }),

  "an error that every attempt would meet makes a gap at the first attempt": () =>
    play({ seed: 45 }, async (script) => {
      script.start({ breakAfterMs: 4_000 });
      script.broken.code = hopelessCode;
      script.broken.chunks.add(3);
      await script.submit({ id: "r", chunks: 16, packSize: 8, tolerate: { chunks: 2 } });
      await script.untilEnded(1);
      script.must(missing(script) === "3-4", `the result lacks ${missing(script)}`);
      const tried = script.run()?.sent.filter(({ message }) => (message.tries ?? 0) > 0) ?? [];
      script.must(tried.length === 0, "there was a second attempt");
    }),

  "a chunk that throws once of a run that tolerates it has further attempts, and none is a gap": () =>
    play({ seed: 52 }, async (script) => {
      script.start({ breakAfterMs: 4_000 });
      script.broken.chunks.add(3);
      script.onDelivery = ({ message }) => {
        if ((message?.tries ?? 0) > 0) script.broken.chunks.clear();
      };
      await script.submit({ id: "r", chunks: 16, packSize: 8, tolerate: { chunks: 2 }, retryAfterS: [20] });
      await script.untilEnded(1);
      script.must(missing(script) === "", `the result lacks ${missing(script)}`);
      script.must(script.run()?.gapped.size === 0, "there are partials with gaps");
    }),

  "a whole partial that comes after one with gaps changes nothing, and the retry computes the pack": () =>
    play({ seed: 47, tree: deepTree, chunkMs: (chunk) => (chunk === 63 ? 60_000 : 50) }, async (script) => {
      const { broken } = script;
      script.start({ breakAfterMs: 4_000 });
      broken.chunks.add(19);
      await script.submit({ id: "r", chunks: 64, packSize: 8, tolerate: { chunks: 1 }, retryAfterS: [0] });
      await script.until("the pack has gaps", () => hasGaps(script));
      broken.chunks.clear();
      await deliverAgain(script, messageOf(script, 2));
      await script.untilEnded(1);
      script.must(missing(script) === "19-20", `the result lacks ${missing(script)}`);
      await script.tell("retry");
      await script.untilEnded(2);
      script.must(missing(script, 2) === "", "nothing is missing in the end");
      script.must(computed(script, 2) === "2", `the retry computes ${computed(script, 2)}`);
    }),

  "of two last attempts that fail at other chunks the first one's partial stands": () =>
    play({ seed: 48, chunkMs: (chunk) => (chunk === 63 ? 30_000 : 50) }, async (script) => {
      const { run, broken } = script;
      script.start({ breakAfterMs: 4_000 });
      script.start();
      broken.chunks.add(19);
      await script.submit({ id: "r", chunks: 64, packSize: 8, tolerate: { chunks: 2 }, retryAfterS: [0] });
      await script.until("the first one has its partial", () => run()?.gapped.has(2) === true);
      broken.chunks.clear();
      for (const chunk of [20, 21]) broken.chunks.add(chunk);
      await deliverAgain(script, { ...messageOf(script, 2), tries: 4 });
      await script.untilEnded(1);
      script.mustBe("complete");
      script.must(missing(script) === "19-20", `the result lacks ${missing(script)}`);
    }),

  "a pack with gaps keeps them through a pause and a new leader": () =>
    play({ seed: 49, chunkMs: (chunk) => (chunk === 63 ? 30_000 : 50) }, async (script) => {
      const first = script.start({ breakAfterMs: 4_000 });
      script.broken.chunks.add(19);
      await script.submit({ id: "r", chunks: 64, packSize: 8, tolerate: { chunks: 1 }, retryAfterS: [0] });
      await script.until("the pack has gaps", () => hasGaps(script));
      await script.tell("pause");
      await script.world.advance(20_000);
      first.terminate();
      script.start({ breakAfterMs: 4_000 });
      await script.tell("resume");
      script.broken.chunks.clear();
      await script.untilEnded(1);
      script.must(missing(script) === "19-20", `the result lacks ${missing(script)}`);
    }),

  "a run that is ended early keeps what its packs with gaps have": () =>
    play({ seed: 50, chunkMs: (chunk) => (chunk >= 40 ? 60_000 : 50) }, async (script) => {
      script.start({ breakAfterMs: 4_000, threads: 4 });
      script.broken.chunks.add(19);
      await script.submit({ id: "r", chunks: 64, packSize: 8, tolerate: { chunks: 1 }, retryAfterS: [0] });
      await script.until("the pack has gaps", () => hasGaps(script));
      await script.tell({ kind: "cancel", keep: true });
      await script.untilEnded(1);
      script.must(missing(script) === "19-20,40-64", `the result lacks ${missing(script)}`);
    }),
};
