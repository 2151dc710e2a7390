import type { FarCall } from "../../../support/farStorage.ts";
import type { Fate } from "../../../support/network.ts";
import { leaderOnly, play, type Script, workerOnly } from "../script.ts";
import { deepTree, type SimulationResult } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";
import { creates } from "./zombies.ts";

const request = { id: "r", chunks: 10, packSize: 2 } as const;

/** The files of a run that are there. */
const filesOf = ({ run }: Script, id = "r"): number =>
  [...(run(id)?.blobs.keys() ?? [])].filter((name) => name.includes("/files/")).length;

export const saves: Readonly<Record<string, Scenario>> = {
  "a worker dies or sleeps at each file that it saves, and at each partial that names one": async () => {
    let last = await faultAt(creates("/files/"), 1, "arrives");
    for (const fits of [creates("/files/"), creates("/parts/")])
      for (const fate of ["dies before", "dies after", "stops before", "lost request"] as const)
        for (let call = 1; call <= 5 && last.violations.length === 0; call += 2)
          last = await faultAt(fits, call, fate);
    return last;
  },

  "a run that saves files has a gap, its retry mends it, and a deletion leaves none of them": () =>
    play({ seed: 52, tree: deepTree, chunkMs: () => 200 }, async (script) => {
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
      await script.submit({ ...request, id: "a", list: true, reuse: true });
      await script.untilEnded(1, "a");
      await script.submit({ ...request, id: "b", list: true, reuse: "a" });
      await script.untilEnded(1, "b");
      script.mustBe("complete", 1, "b");
      must(run("b")?.manifests.get(1)?.reused === undefined, "it computes each pack");
      must(filesOf(script, "b") === 10, "each chunk has its file");
    }),
};

/** One fault at one call of a kind, in the life of a worker; another worker is there to take over. */
const faultAt = (fits: (call: FarCall) => boolean, call: number, fate: Fate): Promise<SimulationResult> =>
  play({ seed: 51, tree: deepTree, chunkMs: () => 200 }, async (script) => {
    let calls = 0;
    script.start(leaderOnly);
    script.broken.saves = true;
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
