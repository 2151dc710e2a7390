import { resultBlobs } from "../../../../src/engine/model/runBlobs.ts";
import type { FarCall } from "../../../support/farStorage.ts";
import type { Fate } from "../../../support/network.ts";
import { rowsOf } from "../../../support/rangesCode.ts";
import { leaderOnly, play, type Script, workerOnly } from "../script.ts";
import { deepTree, type SimulationResult } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";
import { creates } from "./zombies.ts";

/** Other bytes of the same length in one of the files, past the checkers. */
async function spoil({ engine, run }: Script): Promise<void> {
  const { blobs } = engine.storage;
  const { results } = engine.client.names;
  const spoilt = run();
  if (spoilt === undefined) return;
  spoilt.lostByHand = true;
  const [{ name } = { name: "" }] = (await blobs.list(results, resultBlobs("r", spoilt.uid).file(""))).blobs;
  const found = await blobs.read(results, name);
  if (found.kind !== "found") throw new Error(`${name} is not there`);
  const other = Buffer.from(found.body).fill("x", 0, 1);
  await blobs.replace(results, name, other, { ifMatch: found.properties.etag });
}

const bytesOfRows = Array.from({ length: 10 }, (_, chunk) => rowsOf(chunk)).join("").length;

const request = { id: "r", chunks: 10, packSize: 2 } as const;

/** The files of a run that are there. */
const filesOf = ({ run }: Script, id = "r"): number =>
  [...(run(id)?.blobs.keys() ?? [])].filter((name) => name.includes("/files/")).length;

/** A run whose chunks save files ends with a gap, and its retry computes the chunk. */
async function mendGap(script: Script): Promise<void> {
  const { broken, must, run } = script;
  script.start();
  script.start();
  broken.saves = true;
  broken.chunks.add(5);
  await script.submit({ ...request, tolerate: { chunks: 1 } });
  await script.untilEnded();
  must(run()?.manifests.get(1)?.folded === 9, "one chunk is missing");
  broken.chunks.clear();
  await script.tell("retry");
  await script.untilEnded(2);
  script.mustBe("complete", 2);
}

/** A finisher writes the files of a run behind each other into one result. */
const joins: Readonly<Record<string, Scenario>> = {
  "a finisher dies or sleeps at each read and write of a result that joins files": async () => {
    const calls = [
      (one: FarCall) => one.op === "blobs.stream",
      (one: FarCall) => one.op === "blobs.upload",
      creates("manifest.json"),
    ];
    let last = await faultAt(creates("/files/"), 0, "arrives", true);
    for (const fits of calls)
      for (const fate of ["dies before", "dies after", "stops before", "lost request", "lost reply"] as const)
        for (let call = 1; call <= request.chunks && last.violations.length === 0; call += 5)
          last = await faultAt(fits, call, fate, true);
    return last;
  },

  "two finishers join the same files, and the first sleeps with its result written": () =>
    play({ seed: 54, tree: deepTree, chunkMs: () => 200 }, async (script) => {
      const { broken, must, run } = script;
      let calls = 0;
      [broken.saves, broken.joins] = [true, true];
      const fateOf = (one: FarCall): Fate =>
        creates("manifest.json")(one) && ++calls === 1 ? "stops before" : "arrives";
      script.start(leaderOnly);
      const weather = {
        calm: false,
        delays: { veryLate: () => 30_000, stop: () => 150_000 },
        fateOf,
      } as const;
      script.start({ ...workerOnly, weather });
      await script.submit(request);
      await script.until("it sleeps", () => calls === 1);
      script.start(workerOnly);
      await script.untilEnded();
      script.mustBe("complete");
      must(run()?.manifests.get(1)?.bytes === bytesOfRows, "all rows are in it");
      await script.world.advance(200_000);
    }),

  "a run that joins files has a gap, and its retry mends it": () =>
    play({ seed: 55, tree: deepTree, chunkMs: () => 200 }, async (script) => {
      script.broken.joins = true;
      await mendGap(script);
    }),

  "a file that is another than its name says fails the run that would join it": () =>
    play({ seed: 56, tree: deepTree, chunkMs: () => 200 }, async (script) => {
      const { broken, engine, must, run } = script;
      [broken.saves, broken.joins] = [true, true];
      script.start(leaderOnly);
      script.start(workerOnly);
      let spoilt = false;
      script.hold = ({ op }) => {
        if (op !== "blobs.stream" || spoilt) return undefined;
        spoilt = true;
        return spoil(script);
      };
      await script.submit(request);
      await script.untilEnded();
      script.mustBe("failed");
      must(run()?.manifests.size === 0, "there is no result");
      must(
        engine.log.some(({ fields }) => fields["code"] === "result-hash"),
        "and the log says why",
      );
    }),
};

export const saves: Readonly<Record<string, Scenario>> = {
  ...joins,
  "a worker dies or sleeps at each file that it saves, and at each partial that names one": async () => {
    let last = await faultAt(creates("/files/"), 1, "arrives");
    for (const fits of [creates("/files/"), creates("/parts/")])
      for (const fate of ["dies before", "dies after", "stops before", "lost request"] as const)
        for (let call = 1; call <= 5 && last.violations.length === 0; call += 3)
          last = await faultAt(fits, call, fate);
    return last;
  },

  "a run that saves files has a gap, its retry mends it, and a deletion leaves none of them": () =>
    play({ seed: 52, tree: deepTree, chunkMs: () => 200 }, async (script) => {
      const { must, run } = script;
      await mendGap(script);
      must(filesOf(script) === 10, "each chunk has its file, and clean-up leaves them");
      await script.tell("delete");
      await script.until("the run is deleted", () => run() === undefined);
    }),

  "a run that saves files reuses no partial of another, whose deletion takes its files": () =>
    play({ seed: 53, tree: deepTree, chunkMs: () => 200 }, async (script) => {
      const { broken, must, run } = script;
      script.start();
      script.start();
      broken.saves = true;
      broken.fileOf = () => "same";
      await script.submit({ ...request, id: "a", list: true, keepPartials: true });
      await script.untilEnded(1, "a");
      await script.submit({ ...request, id: "b", list: true, reuse: "a" });
      await script.untilEnded(1, "b");
      script.mustBe("complete", 1, "b");
      must(run("b")?.copied.size === 0, "it computes each pack");
      must(filesOf(script, "b") === 10, "each chunk has its file");
    }),
};

/** One fault at one call of a kind, in the life of a worker; another worker is there to take over. */
const faultAt = (
  fits: (call: FarCall) => boolean,
  call: number,
  fate: Fate,
  joined = false,
): Promise<SimulationResult> =>
  play({ seed: 51, tree: deepTree, chunkMs: () => 200 }, async (script) => {
    let calls = 0;
    script.start(leaderOnly);
    script.broken.saves = true;
    script.broken.joins = joined;
    const weather = {
      calm: false,
      delays: { veryLate: () => 30_000, stop: () => 150_000 },
      fateOf: (one: FarCall) => (fits(one) && ++calls === call ? fate : "arrives"),
    } as const;
    script.start({ ...workerOnly, weather });
    script.start(workerOnly);
    await script.submit(request);
    await script.untilEnded();
    script.mustBe("complete");
    script.must(filesOf(script) === request.chunks, "each chunk has its file");
  });
