import { leaderBlob } from "../../../../src/engine/model/names.ts";
import { runBlobs } from "../../../../src/engine/model/runBlobs.ts";
import { simNames as names } from "../../../support/engineWorld.ts";
import type { FarCall } from "../../../support/farStorage.ts";
import type { Fate, Weather } from "../../../support/network.ts";
import { hourMs, leaderOnly, play, type Script, workerOnly } from "../script.ts";
import { deepTree, type SimulationResult } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";

/** Holds up the first call that fits, or every one, until it is let go; its caller hears nothing meanwhile. */
export function holdFirst(script: Script, fits: (call: FarCall) => boolean, every = false) {
  let held = false;
  let gone = false;
  let letGo = (): void => {};
  const way = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const before = script.hold;
  script.hold = (call) => {
    if (gone || (held && !every) || !fits(call)) return before?.(call);
    held = true;
    return way;
  };
  return {
    isHeld: () => held,
    letGo() {
      gone = true;
      letGo();
    },
  };
}

export const creates =
  (part: string) =>
  ({ op, args }: FarCall): boolean =>
    op === "blobs.create" && String(args[1]).includes(part);

const isStateWrite = ({ op, args }: FarCall): boolean =>
  op === "blobs.replace" && String(args[1]).endsWith("state.json");

export const zombies: Readonly<Record<string, Scenario>> = {
  "a leader sleeps for minutes with a state write in its socket, each in turn": () =>
    everySleep("stops before"),

  "a state write arrives minutes after its leader gave it up, each in turn": () => everySleep("very late"),

  "two lead at once, because an operator broke the lease": async () => {
    let last = await leaseBroken(0);
    for (let afterMs = 430; afterMs <= 2_600 && last.violations.length === 0; afterMs += 430)
      last = await leaseBroken(afterMs);
    return last;
  },

  "two finishers, the first of which sleeps with its result written": () =>
    play({ seed: 31, chunkMs: () => 200 }, async (script) => {
      const { run, must } = script;
      script.start(leaderOnly);
      script.start(workerOnly);
      script.start(workerOnly);
      const manifest = holdFirst(script, creates("manifest.json"));
      await script.submit({ id: "r", chunks: 10, packSize: 1 });
      await script.untilEnded();
      script.mustBe("complete");
      manifest.letGo();
      await script.world.advance(5_000);
      const results = [...(run()?.blobs.keys() ?? [])].filter((name) => name.includes("/result."));
      must(results.length >= 2, "each finisher wrote a result under its own name");
    }),

  "a combiner of a shard with gaps sleeps, and another folds the same members": () =>
    play({ seed: 38, tree: deepTree, chunkMs: () => 200 }, async (script) => {
      const { run, broken, must } = script;
      script.start(leaderOnly);
      broken.chunks.add(2);
      let slept = false;
      const weather: Weather<FarCall> = {
        calm: false,
        delays: { veryLate: () => 30_000, stop: () => 2 * 60_000 },
        fateOf(call) {
          if (slept || !creates("/nodes/001/1/00001")(call)) return "arrives";
          slept = true;
          return "stops before";
        },
      };
      script.start({ ...workerOnly, weather });
      script.start({ ...workerOnly, weather });
      await script.submit({ id: "r", chunks: 9, packSize: 1, tolerate: { chunks: 1 } });
      await script.untilEnded();
      await script.world.advance(2 * 60_000);
      must(run()?.manifests.get(1)?.folded === 8, "one chunk is missing");
      const sends =
        run()?.sent.filter(({ message }) => message.kind === "combine" && message.index === 1) ?? [];
      must(
        sends.some(({ message }) => message.send === 2),
        "the combine was resent",
      );
    }),

  "a leader dies with each kind of task recorded and not sent": async () => {
    let last: SimulationResult | undefined;
    for (const kind of ["plan", "combine", "finish"]) {
      last = await play({ seed: 39, tree: deepTree, chunkMs: () => 200 }, async (script) => {
        const weather: Weather<FarCall> = {
          calm: false,
          fateOf: ({ op, args }) =>
            op === "queues.send" && String(args[1]).includes(`"kind":"${kind}"`) ? "dies before" : "arrives",
        };
        script.start({ ...leaderOnly, weather });
        script.start(workerOnly);
        await script.submit({ id: "r", chunks: 7, packSize: 1 });
        await script.until("it is dead", () => script.engine.instances[0]?.isDead() === true);
        script.start(leaderOnly);
      });
      if (last.violations.length > 0) break;
    }
    return last as SimulationResult;
  },

  "a partial arrives after its pack was given up and before its shard is sealed": () =>
    play({ seed: 32, chunkMs: () => 400 }, async (script) => {
      const { run, broken, must } = script;
      script.start(leaderOnly);
      script.start(workerOnly);
      script.start(workerOnly);
      const partial = holdFirst(script, (call) => {
        const fits = creates("/parts/00000/00000003")(call);
        if (fits) broken.chunks.add(3);
        return fits;
      });
      // Another pack keeps the shard open until everything has come.
      const last = holdFirst(script, creates("/parts/00000/00000007"), true);
      await script.submit({ id: "r", chunks: 10, packSize: 1, tolerate: { chunks: 1 } });
      await script.until("the partial is on its way", partial.isHeld);
      await script.until("the pack has failed", () => run()?.state?.packsFailed === 1);
      partial.letGo();
      await script.until("the partial counts", () => run()?.state?.packsFailed === 0, 30_000);
      last.letGo();
      await script.untilEnded();
      script.mustBe("complete");
      must(run()?.manifests.get(1)?.complete === true, "success beats failure until the shard is sealed");
    }),

  "a record of one send says nothing of another that still works": () =>
    play({ seed: 33, chunkMs: () => 15_000 }, async (script) => {
      const { run, must, engine } = script;
      script.start(leaderOnly);
      script.start(workerOnly);
      script.start(workerOnly);
      const partial = holdFirst(script, creates("/parts/00000/00000005"));
      await script.submit({ id: "r", chunks: 12, packSize: 1 });
      const sends = () =>
        (run()?.sent ?? []).filter(({ message }) => message.kind === "compute" && message.pack === 5);
      await script.until("the late pack is resent", () => partial.isHeld() && sends().length >= 2);
      const [first] = sends();
      await engine.storage.queues.send(names.urgent, JSON.stringify({ ...first?.message, silent: true }));
      const record = runBlobs("r", run()?.uid ?? "").failure({ kind: "pack", shard: 0, pack: 5 }, 1, 1);
      await script.until("the end of the first send is recorded", () => run()?.failures.has(record) === true);
      await script.untilEnded();
      script.mustBe("complete");
      must(run()?.state?.packsFailed === 0, "the pack has not failed");
    }),

  "storage refuses the lists of a worker that folds, and nothing counts as missing": () =>
    play({ seed: 35, chunkMs: () => 100 }, async (script) => {
      const { must } = script;
      script.start(leaderOnly);
      let refused = 0;
      const fateOf = ({ op }: FarCall) => {
        if (op !== "blobs.list" || refused >= 3) return "arrives";
        refused += 1;
        return "refused";
      };
      script.start({ ...workerOnly, weather: { calm: false, fateOf } });
      await script.submit({ id: "r", chunks: 12, packSize: 1 });
      await script.untilEnded();
      script.mustBe("complete");
      must(refused === 3, "its lists were refused");
    }),

  "storage refuses partials for minutes, longer than all attempts of a pack take": () =>
    play({ seed: 34, chunkMs: () => 100 }, async (script) => {
      const { run, must, world } = script;
      script.patienceMs = hourMs;
      script.start(leaderOnly);
      let refused = 0;
      const away: Weather<FarCall> = {
        calm: false,
        fateOf(call) {
          if (world.nowMs() > 1_500_000 || !creates("/parts/")(call)) return "arrives";
          refused += 1;
          return "refused";
        },
      };
      script.start({ ...workerOnly, weather: away });
      await script.submit({ id: "r", chunks: 2, packSize: 1 });
      await script.untilEnded();
      script.mustBe("complete");
      must(refused >= 12, "the partials of several packs were refused again and again");
      must(run()?.failures.size === 0, "that is no failure of the work");
    }),

  "a retry is asked for right before the marker of the ended run is removed": () =>
    play({ seed: 35, chunkMs: () => 300 }, async (script) => {
      const { run, broken, must, engine } = script;
      script.start(leaderOnly);
      script.start(workerOnly);
      broken.chunks.add(2);
      await script.submit({ id: "r", chunks: 6, packSize: 1, tolerate: { chunks: 1 } });
      let asked = false;
      script.hold = ({ op, args }) => {
        if (asked || op !== "blobs.remove" || args[0] !== names.active) return undefined;
        asked = true;
        broken.chunks.clear();
        return engine.mark("r", (marker) => ({ ...marker, generation: 2, turn: marker.turn + 1 }));
      };
      await script.untilEnded(2);
      script.mustBe("complete", 2);
      must(run()?.manifests.get(2)?.complete === true, "the retry was not lost with the marker");
    }),

  "a partial arrives between the end of a run and its retry": () =>
    play({ seed: 36, chunkMs: () => 300 }, async (script) => {
      const { run, world, must } = script;
      script.start(leaderOnly);
      script.start(workerOnly);
      const partial = holdFirst(script, creates("/parts/00000/00000004"));
      await script.submit({ id: "r", chunks: 8, packSize: 1 });
      await script.until("the partial is on its way", partial.isHeld);
      await script.tell("cancel");
      await script.untilEnded();
      script.mustBe("cancelled");
      partial.letGo();
      await world.advance(1_000);
      must(run()?.parts.has(4) === true, "the partial has come, and no state knows of it");
      await script.tell("retry");
      await script.untilEnded(2);
      script.mustBe("complete", 2);
    }),
};

/** The first one's own lease calls hang from then on, so it goes on in good faith until its deadline. */
const leaseBroken = (afterMs: number) =>
  play({ seed: 37, tree: deepTree, chunkMs: () => 250 }, async (script) => {
    const { world, engine, run, must } = script;
    let cut = false;
    const weather: Weather<FarCall> = {
      calm: false,
      fateOf: ({ op }) => (cut && op.startsWith("lease.") ? "hangs" : "arrives"),
    };
    script.start({ ...leaderOnly, weather, breakAfterMs: 0 });
    script.start(workerOnly);
    await script.submit({ id: "r", chunks: 60, packSize: 1, cap: 6 });
    await script.until("the first leader leads", () => run()?.state?.phase === "computing");
    script.start({ ...leaderOnly, breakAfterMs: 0 });
    await world.advance(afterMs);
    cut = true;
    engine.storage.operator.breakLease(names.coordination, leaderBlob);
    await script.untilEnded();
    script.mustBe("complete");
    must((run()?.highest.terms ?? 0) >= 2, "another has led it too");
  });

/** A small life for each of its leader's state writes; another leader takes over meanwhile. */
async function everySleep(fate: Fate): Promise<SimulationResult> {
  let last: SimulationResult | undefined;
  for (
    let write = 1, seen = Number.POSITIVE_INFINITY;
    write <= seen && !last?.violations.length;
    write += 1
  ) {
    last = await play({ seed: 30, tree: deepTree, chunkMs: () => 1_500 }, async (script) => {
      let writes = 0;
      const weather: Weather<FarCall> = {
        calm: false,
        delays: { veryLate: () => 45_000, stop: () => 45_000 },
        fateOf(call) {
          if (isStateWrite(call)) writes += 1;
          return isStateWrite(call) && writes === write ? fate : "arrives";
        },
      };
      script.start({ ...leaderOnly, weather, fastLoopMs: 400 });
      script.start(workerOnly);
      await script.submit({ id: "r", chunks: 10, packSize: 2 });
      await script.until("the first leader leads", () => script.run()?.state !== undefined);
      script.start({ ...leaderOnly, fastLoopMs: 400 });
      await script.untilEnded();
      script.mustBe("complete");
      seen = writes;
    });
  }
  return last as SimulationResult;
}
