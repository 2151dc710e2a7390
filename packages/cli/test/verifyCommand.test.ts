import { describe, expect, it } from "vitest";
import { resultBlobs } from "../../../src/engine/model/runBlobs.ts";
import { names } from "../../../test/client/clientWorld.ts";
import { sha256 } from "../../../test/client/questions/answeringWorker.ts";
import {
  finishedRun,
  right,
  type VerifyAsk,
  verifyingWorker,
} from "../../../test/client/questions/finishedRun.ts";
import { cliWorld } from "./cliWorld.ts";

const wrong = { sha256: sha256("other"), ms: 1 };

describe("leasefold verify", () => {
  it("says that all is equal, with exit code 0", async () => {
    const world = await cliWorld();
    await finishedRun(world);
    verifyingWorker(world);
    const { exitCode, out, err } = await world.run("verify r1 --sample 5%");
    expect(out).toBe(
      `r1: its bytes have the SHA-256 of its manifest, ${sha256("499500").slice(0, 12)}…\n` +
        "r1: spec as recorded, plan as recorded\n" +
        "r1: 5 of 100 packs computed again: 5 equal\n",
    );
    expect([exitCode, err]).toEqual([0, "5 of 5 packs computed again\n"]);
  });

  it("says what is not, pack by pack, with exit code 1", async () => {
    const world = await cliWorld();
    const { run } = await finishedRun(world);
    world.storage.operator.deleteBlob(names.results, resultBlobs("r1", run.uid).hashes(1, 9));
    const error = { code: "calculation-threw", message: "chunk 20: not\ntoday" };
    const answer = (ask: VerifyAsk) => ({ 0: wrong, 2: { error }, 3: undefined })[ask.pack] ?? right(ask);
    verifyingWorker(world, (ask) => (ask.pack === 3 ? undefined : answer(ask)));
    const { exitCode, out } = await world.run("verify r1 --sample 100% --wait 5");
    expect(exitCode).toBe(1);
    expect(out).toContain(
      "r1: 100 of 100 packs computed again: 87 equal, 1 different, 10 without a hash in the result, " +
        "1 failed when computed again, 1 not answered in time\n",
    );
    expect(out).toMatch(/^ +0 {2}0–9 +different$/m);
    expect(out).toMatch(/^ +2 {2}20–29 +failed when computed again +chunk 20: not today$/m);
    expect(out).toMatch(/^ +3 {2}30–39 +not answered in time$/m);
  });

  it("says that the result's own bytes are wrong, with exit code 1", async () => {
    const world = await cliWorld();
    const { manifest } = await finishedRun(world);
    world.storage.operator.overwriteBlob(names.results, manifest.blob, "499501");
    verifyingWorker(world);
    const { exitCode, out } = await world.run("verify r1");
    expect(out).toContain("r1: its bytes do not have the SHA-256 of its manifest\n");
    expect(exitCode).toBe(1);
  });

  it("tells programs the same in JSON", async () => {
    const world = await cliWorld();
    await finishedRun(world);
    verifyingWorker(world, () => wrong);
    const { exitCode, out } = await world.run("verify r1 --json");
    expect(exitCode).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      run: "r1",
      result: { equal: true },
      packs: { total: 100, drawn: 1, different: 1 },
      others: [{ outcome: "different" }],
      allEqual: false,
    });
  });

  it("stops with Ctrl-C", async () => {
    const world = await cliWorld();
    await finishedRun(world);
    const { ended, interrupt } = world.start("verify r1");
    await world.world.advance(1_000);
    interrupt();
    expect(await world.world.finish(ended)).toMatchObject({ exitCode: 130 });
  });

  it.each([
    ["verify", "missing required argument 'run'"],
    ["verify r9", 'there is no run "r9"'],
    ["verify r1 --sample 0", "sample: 0 is neither"],
    ["verify r1 --sample 101%", "sample: 101% is neither"],
    ["verify r1 --wait 0", "invalid --wait: 0: must be at least 1"],
  ])("%s is refused on one line with exit code 2", async (line, message) => {
    const { run } = await cliWorld();
    const { exitCode, out, err } = await run(line);
    expect([exitCode, out, err.split("\n").length]).toEqual([2, "", 2]);
    expect(err).toContain(message);
  });
});
