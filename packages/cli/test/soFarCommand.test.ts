import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { submit } from "../../../src/engine/client/submit.ts";
import type { WorkMessage } from "../../../src/engine/model/message.ts";
import { rangesText } from "../../../src/engine/model/packs.ts";
import { answeringWorker, answersLeft, putAnswer } from "../../../test/client/questions/answeringWorker.ts";
import { chunkShare } from "../render/runDetails.ts";
import { cliWorld } from "./cliWorld.ts";

type Ask = Extract<WorkMessage, { kind: "sofar" }>;

const layout = { chunks: 1_000, packSize: 10, shardSize: 10, fanIn: 1_000, packMs: 1 };
const half = {
  text: "4950",
  chunks: 1_000,
  covers: [
    { from: 0, to: 100 },
    { from: 200, to: 223 },
  ],
};

async function computing(given: Parameters<typeof putAnswer>[2] = half, change = {}) {
  const world = await cliWorld();
  const run = await submit(world.client, { calculation: "sum", params: { to: 1_000 }, id: "r1" });
  await world.putState(run, { phase: "computing", layout });
  answeringWorker(world, (message) => putAnswer(world, message as Ask, given, change));
  return { ...world, submitted: run };
}

describe("leasefold result --so-far", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "leasefold-test-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it("prints the answer, and beside it which chunks that covers", async () => {
    const world = await computing();
    expect(await world.run("result r1 --so-far")).toEqual({
      exitCode: 0,
      out: "4950",
      err: "r1 so far: 123 of 1,000 chunks (12.3 %): 0–99, 200–222\n",
    });
    expect(answersLeft(world)).toEqual([]);
  });

  it("ends with exit code 3 when no worker answers in time", async () => {
    const { run, client, putState } = await cliWorld();
    await putState(await submit(client, { calculation: "sum", params: { to: 1 }, id: "r1" }), {
      phase: "computing",
      layout,
    });
    expect(await run("result r1 --so-far --wait 7")).toMatchObject({
      exitCode: 3,
      out: "",
      err: expect.stringContaining("no worker answered for r1 within 7 s"),
    });
  });

  it("ends with exit code 7 when the calculation fails, and 6 for other bytes than were told of", async () => {
    const failed = await computing({ code: "calculation-threw", message: "finish: no" });
    expect(await failed.run("result r1 --so-far")).toMatchObject({
      exitCode: 7,
      err: expect.stringContaining("finish: no"),
    });
    const damaged = await computing(half, { sha256: "00" });
    expect(await damaged.run("result r1 --so-far")).toMatchObject({ exitCode: 6 });
  });

  it.each([
    ["result r1 --so-far --generation 1", "an answer so far is always of the newest generation"],
    ["result r1 --wait 5", "invalid --wait: needs --so-far"],
    ["result r1 --so-far --wait 0", "invalid --wait: 0: must be at least 1"],
  ])("%s is refused with exit code 2", async (line, message) => {
    const { run } = await computing();
    expect(await run(line)).toMatchObject({ exitCode: 2, out: "", err: expect.stringContaining(message) });
  });
});

describe("the part that is covered", () => {
  it("is told in ranges with their last chunk in them, and of many the first few", () => {
    expect(rangesText([{ from: 7, to: 8 }])).toBe("7");
    const many = Array.from({ length: 1_010 }, (_, place) => ({ from: 10 * place, to: 10 * place + 2 }));
    expect(rangesText(many)).toBe("0–1, 10–11, 20–21, 30–31, 40–41, 50–51, 60–61, 70–71, and 1,002 more");
  });

  it("is all only where it is", () => {
    expect(chunkShare(999_999, 1_000_000)).toBe("999,999 of 1,000,000 chunks (99.9 %)");
    expect(chunkShare(5, 5)).toBe("5 of 5 chunks (100 %)");
    expect(chunkShare(0, 0)).toBe("0 of 0 chunks (100 %)");
  });
});
