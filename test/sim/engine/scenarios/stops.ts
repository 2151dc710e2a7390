import { CalculationError } from "../../../../src/engine/model/errors.ts";
import { brokenCode, hopelessCode } from "../checks/reasons.ts";
import { leaderOnly, play, type Script, workerOnly } from "../script.ts";
import { deepTree } from "../stage.ts";
import { platform } from "./endless.ts";
import type { Scenario } from "./scenarios.ts";

/** Rule 33: runs that end with the first prefix that their calculation accepts. */

const manifestOf = ({ run }: Script, generation = 1) => run()?.manifests.get(generation);

function mustStop(script: Script, chunks: number, of: number, generation = 1): void {
  const { chunks: has, stopped } = manifestOf(script, generation) ?? {};
  script.must(has === chunks, `generation ${generation} has ${has} chunks, not ${chunks}`);
  script.must(stopped?.of === (chunks === of ? undefined : of), `it says ${JSON.stringify(stopped)}`);
}

/** Chunks of the latest pack that was sent. */
const sentUpTo = ({ run }: Script): number =>
  Math.max(...(run()?.sent ?? []).map(({ message }) => (message.kind === "compute" ? message.to : 0)));

const asked = ({ judge }: Script): number[] =>
  judge.begun.flatMap(({ task }) => (task.kind === "ask" ? [task.chunks ?? 0] : []));

const answered = ({ run }: Script): number =>
  Object.values(run()?.state?.groups ?? {}).filter(({ node }) => node).length;

export const stops: Readonly<Record<string, Scenario>> = {
  "a run stops after the first prefix that its rule accepts, and little beyond is sent": () =>
    play({ seed: 61, chunkMs: () => 400 }, async (script) => {
      script.start({ breakAfterMs: 4_000 });
      let stoppedMs = Number.POSITIVE_INFINITY;
      const sentLate = ({ run }: Script): number =>
        run()?.sent.filter(({ message, atMs }) => message.kind === "compute" && atMs > stoppedMs).length ?? 0;
      await script.submit({ id: "r", chunks: 1_000, packSize: 4, stopAt: 90, cap: 16 });
      await script.until("it stops", () => script.run()?.state?.stopped !== undefined);
      stoppedMs = script.world.nowMs();
      await script.untilEnded(1);
      script.mustBe("complete");
      mustStop(script, 96, 1_000);
      script.must(asked(script).join() === "16,32,48,64,96", `asked about ${asked(script)}`);
      script.must(sentUpTo(script) < 250, `chunks up to ${sentUpTo(script)} were sent`);
      script.must(sentLate(script) === 0, `${sentLate(script)} packs were sent after it had stopped`);
    }),

  "a run that no prefix ends is asked about all of them and has all chunks": () =>
    play({ seed: 62, chunkMs: () => 20 }, async (script) => {
      script.start({ breakAfterMs: 4_000 });
      await script.submit({ id: "r", chunks: 200, packSize: 1_000, stopAt: 200 });
      await script.untilEnded(1);
      mustStop(script, 200, 200);
      script.must(
        asked(script).join() === "4,8,12,16,24,32,48,64,96,128,192",
        `asked about ${asked(script)}`,
      );
    }),

  "runs of one chunk and of two end, and a run of none": () =>
    play({ seed: 63 }, async (script) => {
      script.start({ breakAfterMs: 4_000 });
      for (const chunks of [0, 1, 2, 3]) {
        await script.submit({ id: `r${chunks}`, chunks, stopAt: 1 });
        await script.untilEnded(1, `r${chunks}`);
        script.mustBe("complete", 1, `r${chunks}`);
      }
    }),

  "a chunk that fails beyond the prefix after which its run stops fails no run": () =>
    play({ seed: 64, tree: deepTree, chunkMs: (chunk) => (chunk < 8 ? 20_000 : 10) }, async (script) => {
      script.start({ breakAfterMs: 4_000 });
      script.broken.code = hopelessCode;
      script.broken.chunks.add(40);
      await script.submit({ id: "r", chunks: 64, packSize: 1, stopAt: 8 });
      await script.untilEnded(1);
      script.mustBe("complete");
      mustStop(script, 8, 64);
    }),

  "a merge that fails beyond the prefix after which its run stops fails no run": () =>
    play({ seed: 75, tree: deepTree, chunkMs: (chunk) => (chunk === 0 ? 90_000 : 10) }, async (script) => {
      script.start({ breakAfterMs: 4_000 });
      script.broken.code = hopelessCode;
      // Every shard has four chunks, and the first of them is late.
      script.broken.fold = (chunks) => chunks === 4;
      await script.submit({ id: "r", chunks: 130, packSize: 2, stopAt: 4 });
      await script.world.until(() => (script.run()?.parts.size ?? 0) > 40, 600_000);
      await script.world.advance(10_000);
      script.must(script.run()?.state?.phase === "computing", "it goes on");
      script.broken.fold = undefined;
      await script.untilEnded(1);
      mustStop(script, 4, 130);
    }),

  "prefixes that are ready together are asked about in order": () =>
    play({ seed: 76, chunkMs: () => 10 }, async (script) => {
      script.start({ breakAfterMs: 4_000 });
      await script.submit({ id: "r", chunks: 64, packSize: 1, stopAt: 3 });
      await script.untilEnded(1);
      mustStop(script, 3, 64);
      script.must(asked(script).join() === "1,2,3", `asked about ${asked(script)}`);
    }),

  "a prefix that is accepted after the last chunk was computed ends its run": () =>
    play({ seed: 77, chunkMs: () => 10 }, async (script) => {
      script.start({ breakAfterMs: 4_000 });
      script.broken.ask = (chunks, byRule) => {
        if (chunks === 1) script.must(script.run()?.parts.size === 64, "all are computed");
        return byRule;
      };
      const last = Promise.withResolvers<void>();
      script.hold = ({ op, args }) =>
        op === "blobs.create" && /nodes\/001\/1\/00000$/.test(String(args[1])) ? last.promise : undefined;
      await script.submit({ id: "r", chunks: 64, packSize: 1, stopAt: 48 });
      await script.until("all are computed", () => script.run()?.parts.size === 64);
      last.resolve();
      await script.untilEnded(1);
      mustStop(script, 48, 64);
    }),

  "a chunk that fails within the next prefix fails its run": () =>
    play({ seed: 65, chunkMs: () => 50 }, async (script) => {
      script.start({ breakAfterMs: 4_000 });
      script.broken.chunks.add(40);
      await script.submit({ id: "r", chunks: 64, packSize: 1, stopAt: 60 });
      await script.untilEnded(1);
      script.mustBe("failed");
      script.must(/^chunk 40: /.test(script.run()?.state?.error?.message ?? ""), "it names the chunk");
    }),

  "the rule sees the gaps of a prefix, and a retry that fills them asks again": () =>
    play({ seed: 66, chunkMs: () => 50 }, async (script) => {
      script.start({ breakAfterMs: 4_000 });
      script.broken.chunks.add(5);
      await script.submit({ id: "r", chunks: 128, packSize: 2, stopAt: 16, tolerate: { percent: 1 } });
      await script.untilEnded(1);
      mustStop(script, 24, 128);
      script.must(manifestOf(script)?.complete === false, "it has a gap");
      script.broken.chunks.clear();
      await script.tell("retry");
      await script.untilEnded(2);
      mustStop(script, 16, 128, 2);
      script.must(manifestOf(script, 2)?.complete === true, "nothing is missing");
    }),

  "a retry that fills a gap of a run which no prefix had ended asks anew, and stops": () =>
    play({ seed: 78, chunkMs: () => 50 }, async (script) => {
      script.start({ breakAfterMs: 4_000 });
      script.broken.chunks.add(5);
      await script.submit({ id: "r", chunks: 64, packSize: 1, stopAt: 48, tolerate: { chunks: 2 } });
      await script.untilEnded(1);
      mustStop(script, 64, 64);
      script.broken.chunks.clear();
      await script.tell("retry");
      await script.untilEnded(2);
      mustStop(script, 48, 64, 2);
    }),

  "a stop that throws, never ends or ends its process fails its run within a bound": () =>
    play({ seed: 68, packLimitMs: 20_000 }, async (script) => {
      platform(script, 3, { breakAfterMs: 4_000 });
      const begin = async (id: string): Promise<void> => {
        const fromMs = script.world.nowMs();
        await script.submit({ id, chunks: 64, packSize: 1, stopAt: 64 });
        await script.untilEnded(1, id);
        script.mustBe("failed", 1, id);
        script.must(script.run(id)?.state?.error?.code === "stop-failed", `${id}: another error`);
        script.must(script.world.nowMs() - fromMs < 240_000, `${id} took too long`);
      };
      script.broken.ask = () => {
        throw new CalculationError(brokenCode, "stop is broken");
      };
      await begin("throws");
      script.broken.ask = undefined;
      script.broken.doom = ({ kind }) => (kind === "ask" ? "hangs" : undefined);
      await begin("hangs");
      script.broken.doom = ({ kind }) => (kind === "ask" ? "kills" : undefined);
      await begin("kills");
      script.broken.doom = undefined;
      script.replaces = false;
    }),

  "of a stop that says something else each time the first answer counts, and there is one result": () =>
    play({ seed: 69, chunkMs: () => 50 }, async (script) => {
      const { broken, world } = script;
      script.start(leaderOnly);
      script.start(workerOnly);
      // What the rule says is not what is said, so where it stopped cannot be checked by the rule.
      let said = 0;
      broken.ask = (chunks) => {
        said += 1;
        return chunks === 16 && said % 2 === 1;
      };
      script.queues.doubled = 1;
      await script.submit({ id: "r", chunks: 64, packSize: 1, stopAt: 16 });
      await script.until("it is asked", () => asked(script).length > 12);
      script.queues.doubled = 0;
      broken.ask = undefined;
      await world.advance(1_000);
      await script.untilEnded(1);
      script.must(script.run()?.manifests.size === 1, "there is one result");
    }),

  "a leader that dies while a prefix is asked about changes nothing": () =>
    play({ seed: 70, chunkMs: () => 300 }, async (script) => {
      const leaders = [script.start(leaderOnly)];
      script.start(workerOnly);
      script.start(workerOnly);
      await script.submit({ id: "r", chunks: 64, packSize: 1, stopAt: 12, cap: 8 });
      for (let count = 1; count <= 5; count += 1) {
        await script.until("another answer is known", () => answered(script) >= count);
        leaders.at(-1)?.terminate();
        leaders.push(script.start(leaderOnly));
      }
      await script.untilEnded(1);
      mustStop(script, 12, 64);
    }),

  "a pause, a resume and another leader leave the end where it is": () =>
    play({ seed: 71, chunkMs: () => 300 }, async (script) => {
      const first = script.start({ breakAfterMs: 4_000 });
      await script.submit({ id: "r", chunks: 64, packSize: 1, stopAt: 12, cap: 8 });
      await script.until("an answer is known", () => answered(script) >= 2);
      await script.tell("pause");
      await script.world.advance(40_000);
      first.terminate();
      script.start({ breakAfterMs: 4_000 });
      await script.tell("resume");
      await script.untilEnded(1);
      mustStop(script, 12, 64);
    }),

  "a run that is to end with what is done asks no more": () =>
    play({ seed: 72, chunkMs: (chunk) => (chunk >= 40 ? 60_000 : 50) }, async (script) => {
      script.start({ breakAfterMs: 4_000 });
      await script.submit({ id: "r", chunks: 64, packSize: 1, stopAt: 60 });
      await script.until("it has been asked", () => answered(script) >= 4);
      await script.tell({ kind: "cancel", keep: true });
      await script.untilEnded(1);
      script.mustBe("complete");
      script.must(manifestOf(script)?.stopped === undefined, "it did not stop");
    }),

  "a deadline fails a run that may stop": () =>
    play({ seed: 73, chunkMs: () => 2_000 }, async (script) => {
      script.start({ breakAfterMs: 4_000 });
      await script.submit({
        ...{ id: "r", chunks: 640, packSize: 10, stopAt: 600, cap: 8 },
        deadline: { ms: 60_000, keep: false },
      });
      await script.untilEnded(1);
      script.mustBe("failed");
    }),

  "a run that reuses a run which stopped takes its packs and stops in the same place": () =>
    play({ seed: 74, chunkMs: () => 50 }, async (script) => {
      script.start({ breakAfterMs: 4_000 });
      script.broken.fileOf = (chunk) => `file ${chunk}`;
      const request = { chunks: 64, packSize: 1, list: true, stopAt: 12, keepPartials: true } as const;
      await script.submit({ id: "earlier", ...request });
      await script.untilEnded(1, "earlier");
      await script.submit({ id: "r", ...request, reuse: "earlier" });
      await script.untilEnded(1);
      mustStop(script, 12, 64);
      script.must(script.run()?.copied.size === script.run()?.parts.size, "it copies all of them");
    }),
};
