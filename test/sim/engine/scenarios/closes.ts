import { leaderOnly, play, type Script, workerOnly } from "../script.ts";
import type { SimulationResult } from "../stage.ts";
import { deepTree } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";
import { creates, holdFirst } from "./zombies.ts";

/** A finisher whose manifest is held up on its way while the leader gives it up, because the code is broken now. */
function holdManifest(script: Script) {
  return holdFirst(script, (call) => {
    const fits = creates("manifest.json")(call);
    if (fits) script.broken.fold = () => true;
    return fits;
  });
}

/** Whether every send of the finish has ended in a record. */
function finishFailed(script: Script): boolean {
  const { state, failures } = script.run() ?? {};
  const ended = [...(failures?.values() ?? [])].filter(({ work }) => work.kind === "finish");
  return ended.length >= (state?.tasks["finish"]?.send ?? 1);
}

/** Calls of one look leave together, and two looks are further apart than this. */
const sameLookMs = 40;

export const closes: Readonly<Record<string, Scenario>> = {
  "a manifest written by a finisher that was given up": () =>
    play({ seed: 12, chunkMs: () => 200 }, async (script) => {
      const { must, world, engine } = script;
      script.start(leaderOnly);
      script.start(workerOnly);
      script.start(workerOnly);
      const manifest = holdManifest(script);
      await script.submit({ id: "r", chunks: 10, packSize: 1 });
      await script.until("the manifest is on its way", manifest.isHeld);
      // It arrives right after the leader has looked for it, in the look that brings the record of the last failure.
      const at = { read: Number.NEGATIVE_INFINITY, list: Number.NEGATIVE_INFINITY };
      const { hold } = script;
      script.hold = (call) => {
        const name = String(call.args[1]);
        if (call.op === "blobs.read" && name.endsWith("manifest.json")) at.read = world.nowMs();
        if (call.op === "blobs.list" && name.includes("failed/") && finishFailed(script))
          at.list = world.nowMs();
        if (Math.abs(at.read - at.list) < sameLookMs) engine.client.clock.after(1, manifest.letGo);
        return hold?.(call);
      };
      await script.untilEnded();
      must(finishFailed(script), "its send had ended in a record");
      script.mustBe("complete");
    }),

  "a manifest that arrives long after the run failed is no harm, and a retry goes on": () =>
    play({ seed: 13, chunkMs: () => 200 }, async (script) => {
      const { world, run, broken, must } = script;
      script.start({ breakAfterMs: 4_000 });
      script.start();
      const manifest = holdManifest(script);
      await script.submit({ id: "r", chunks: 10, packSize: 1 });
      await script.until("the manifest is on its way", manifest.isHeld);
      await script.untilEnded();
      script.mustBe("failed");
      manifest.letGo();
      await world.advance(10_000);
      must(run()?.manifests.has(1) === true, "the manifest has arrived");
      broken.fold = undefined;
      await script.tell("retry");
      await script.untilEnded(2);
      script.mustBe("complete", 2);
    }),

  "a leader dies before it publishes the completion event, and a retry comes first: both generations have theirs":
    () =>
      play({ seed: 18, chunkMs: () => 200 }, async (script) => {
        const { run, broken } = script;
        const first = script.start(leaderOnly);
        script.start(workerOnly);
        broken.chunks.add(3);
        script.hold = ({ op, args }) =>
          op === "blobs.create" && String(args[1]).startsWith("_closed/") ? new Promise(() => {}) : undefined;
        await script.submit({ id: "r", chunks: 8, packSize: 1 });
        await script.until("it has failed", () => run()?.state?.phase === "failed");
        first.kill();
        script.hold = undefined;
        broken.chunks.clear();
        await script.tell("retry");
        script.start(leaderOnly);
        await script.untilEnded(2);
        script.mustBe("complete", 2);
      }),

  "a state write whose reply was lost, then written with other bytes": () => everyStateWrite("lost reply", 1),

  "state writes that get no answer three times in a row": () => everyStateWrite("lost reply", 3),

  "a state write that arrives a second time, long after its successors": () => everyStateWrite("twice", 1),

  "cancel against finishing: after the leader's list, before its record": () =>
    play({ seed: 14, chunkMs: () => 300 }, async (script) => {
      const { run, must, engine } = script;
      script.start(leaderOnly);
      script.start(workerOnly);
      await script.submit({ id: "r", chunks: 8, packSize: 1 });
      let cancelled = false;
      script.hold = ({ op, args }) => {
        const all = op === "blobs.list" && String(args[1]).includes("/parts/") && run()?.parts.size === 8;
        if (!all || cancelled || run()?.state?.phase !== "computing") return undefined;
        cancelled = true;
        return engine.mark("r", (marker) => ({ ...marker, want: "cancelled" }));
      };
      await script.untilEnded();
      must(cancelled, "the cancel came between the list and the decision");
      script.mustBe("cancelled");
    }),

  "cancel against finishing: at every moment around the record": async () => {
    let last: SimulationResult | undefined;
    for (let afterMs = 0; afterMs <= 1_500 && !last?.violations.length; afterMs += 60) {
      last = await play({ seed: 16, chunkMs: () => 300 }, async (script) => {
        const { world, run, must } = script;
        script.start(leaderOnly);
        script.start(workerOnly);
        await script.submit({ id: "r", chunks: 6, packSize: 1 });
        await script.until("the last pack is done", () => run()?.parts.size === 6);
        await world.advance(afterMs);
        const accepted = await script.tell("cancel").then(
          () => true,
          () => false,
        );
        await script.untilEnded();
        const { phase, answer } = run()?.state ?? {};
        const fits = phase === "cancelled" ? answer === "done" : phase === "complete";
        must(fits, `${afterMs} ms after the last pack the run is ${phase}, answered ${answer}`);
        must(accepted || phase === "complete", "a cancel that was refused came after the end");
      });
    }
    return last as SimulationResult;
  },

  "the rest is given up after a leader died that had not recorded its sends": () =>
    play({ seed: 17, chunkMs: () => 2_000 }, async (script) => {
      const { run, must } = script;
      const first = script.start(leaderOnly);
      script.start(workerOnly);
      script.hold = ({ op, args }) => {
        const records = op === "blobs.replace" && String(args[1]).endsWith("/state.json");
        return records && run()?.plan !== undefined ? new Promise(() => {}) : undefined;
      };
      await script.submit({ id: "r", chunks: 20, packSize: 1 });
      await script.until("some packs are done", () => (run()?.parts.size ?? 0) >= 8);
      must(run()?.state?.cursor === 0, "no send is recorded");
      first.kill();
      script.hold = undefined;
      await script.tell({ kind: "cancel", keep: true });
      script.start(leaderOnly);
      await script.untilEnded();
      script.mustBe("complete");
      must((run()?.manifests.get(1)?.missing.length ?? 0) > 0, "some packs are given up");
    }),

  "a combiner wakes minutes after its run was cleaned up": () =>
    play({ seed: 16, tree: deepTree, chunkMs: () => 200 }, async (script) => {
      const { world, run, must } = script;
      script.start(leaderOnly);
      script.start(workerOnly);
      let release = (): void => {};
      script.hold = ({ op, args }) => {
        if (op !== "blobs.create" || !String(args[1]).includes("/nodes/001/1/")) return undefined;
        script.hold = undefined;
        return new Promise<void>((resolve) => {
          release = resolve;
        });
      };
      await script.submit({ id: "r", chunks: 9, packSize: 1 });
      await script.untilEnded();
      script.mustBe("complete");
      await world.advance(180_000);
      release();
      await world.advance(1_000);
      const nodes = [...(run()?.blobs.keys() ?? [])].filter((name) => name.includes("/nodes/"));
      must(nodes.length === 1, "its node has come back after clean-up");
    }),
};

/** A small life for each of its state writes, with that one in trouble. */
async function everyStateWrite(fate: "lost reply" | "twice", times: number): Promise<SimulationResult> {
  let last: SimulationResult | undefined;
  for (
    let write = 1, seen = Number.POSITIVE_INFINITY;
    write <= seen && !last?.violations.length;
    write += 1
  ) {
    last = await play({ seed: 17, tree: deepTree, chunkMs: () => 400 }, async (script) => {
      let writes = 0;
      script.start({
        ...leaderOnly,
        weather: {
          calm: false,
          delays: { veryLate: () => 20_000, stop: () => 0 },
          fateOf({ op, args }) {
            if (op !== "blobs.replace" || !String(args[1]).endsWith("state.json")) return "arrives";
            writes += 1;
            return writes >= write && writes < write + times ? fate : "arrives";
          },
        },
      });
      script.start(workerOnly);
      await script.submit({ id: "r", chunks: 10, packSize: 2 });
      await script.untilEnded();
      script.mustBe("complete");
      seen = writes;
    });
  }
  return last as SimulationResult;
}
