import { burnNext } from "../burnNext.ts";
import { leaderOnly, play, workerOnly } from "../script.ts";
import { deepTree } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";

const burnOnce = (kind: string) => () =>
  play({ seed: 21, tree: deepTree, chunkMs: () => 300 }, async (script) => {
    const { world, run, must } = script;
    script.start(leaderOnly);
    script.start(workerOnly);
    const burnt = burnNext(script, kind, 1);
    await script.submit({ id: "r", chunks: 9, packSize: 1 });
    await script.untilEnded();
    script.mustBe("complete");
    must(burnt() === 1, `a ${kind} message was burnt`);
    must((run()?.failures.size ?? 0) >= 1, "the poison handler recorded the end of its send");
    must(world.nowMs() < 60_000, "its place was taken before anything was late");
  });

export const poison: Readonly<Record<string, Scenario>> = {
  "two planners of a list, one of which dies half-way": () =>
    play({ seed: 29, tree: deepTree, chunkMs: () => 300 }, async (script) => {
      const { run, must } = script;
      script.start(leaderOnly);
      let died = false;
      script.start({
        ...workerOnly,
        weather: {
          calm: false,
          fateOf({ op, args }) {
            if (died || op !== "blobs.create" || !String(args[1]).includes("/plan/")) return "arrives";
            died = true;
            return "dies after";
          },
        },
      });
      await script.submit({ id: "r", chunks: 11, packSize: 2, list: true });
      await script.until("one of them is dead", () => died);
      script.start(workerOnly);
      await script.untilEnded();
      script.mustBe("complete");
      const segments = [...(run()?.blobs.keys() ?? [])].filter((name) => name.includes("/plan/"));
      must(segments.length === 3, "one segment of the one, two of the other");
    }),

  "a plan message burnt into poison unrun is replaced": burnOnce("plan"),
  "a compute message burnt into poison unrun is replaced": burnOnce("compute"),
  "a combine message burnt into poison unrun is replaced": burnOnce("combine"),
  "a finish message burnt into poison unrun is replaced": burnOnce("finish"),

  "work whose every send is burnt fails after the third": () =>
    play({ seed: 22, tree: deepTree, chunkMs: () => 300 }, async (script) => {
      const { run, must } = script;
      script.start(leaderOnly);
      script.start(workerOnly);
      burnNext(script, "finish", 3);
      await script.submit({ id: "r", chunks: 9, packSize: 1 });
      await script.untilEnded();
      script.mustBe("failed");
      const ends = [...(run()?.failures.values() ?? [])].filter(({ work }) => work.kind === "finish");
      must(ends.length === 3, "three sends ended in poison");
      script.hold = undefined;
      await script.tell("retry");
      await script.untilEnded(2);
      script.mustBe("complete", 2);
    }),

  "a host dies between the poison copy and the delete": () =>
    play({ seed: 23, tree: deepTree, chunkMs: () => 300 }, async (script) => {
      const { must } = script;
      script.start(leaderOnly);
      let died = false;
      script.start({
        ...workerOnly,
        weather: {
          calm: false,
          fateOf({ op, args }) {
            if (died || op !== "queues.send" || !String(args[0]).endsWith("-poison")) return "arrives";
            died = true;
            return "dies after";
          },
        },
      });
      script.start(workerOnly);
      burnNext(script, "compute", 3);
      await script.submit({ id: "r", chunks: 9, packSize: 1 });
      await script.untilEnded();
      script.mustBe("complete");
      must(died, "it died with the copy made");
    }),
};
