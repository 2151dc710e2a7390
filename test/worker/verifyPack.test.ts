import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { MessageOf } from "../../src/engine/model/message.ts";
import { decodeVerified } from "../../src/engine/model/output.ts";
import { common, computeOf, inlineCode, joining, results, workerWorld } from "./workerWorld.ts";

const verify = (pack: number): MessageOf<"verify"> => ({ ...common, kind: "verify", tag: "t", pack });

async function finished() {
  const world = await workerWorld(inlineCode(joining));
  await world.submit({ calculation: "joining", params: { chunks: 7 }, packSize: 2 });
  await world.work({ ...common, kind: "plan" });
  const plan = await world.plan();
  for (let pack = 0; pack < 4; pack += 1) await world.work(computeOf(plan, pack));
  const partials = await Promise.all(
    [0, 1, 2, 3].map((pack) => world.bytesOf(world.names.runs, `r/u/parts/00000/0000000${pack}`)),
  );
  await world.work({ ...common, kind: "finish" });
  await world.work({ ...common, kind: "cleanup", shard: 0 });
  await world.unmark();
  const answers = async () => {
    const page = await world.storage.blobs.list(world.names.results, `${results.answer("t")}/`, {
      metadata: true,
    });
    return page.blobs.map(({ name, metadata }) => decodeVerified(metadata, name));
  };
  return { world, partials, answers };
}

describe("a pack that is verified", () => {
  test("has the stored hash, after the run has ended and its partials are deleted", async () => {
    const { world, partials, answers } = await finished();
    const kept = await world.bytesOf(world.names.results, results.hashes(1, 0));
    for (const pack of [1, 3]) await world.work(verify(pack));
    const hashes = [1, 3].map((pack) =>
      Buffer.from(kept.subarray(32 * pack, 32 * pack + 32)).toString("hex"),
    );
    expect(hashes[0]).toBe(hash("sha256", partials[1] as Uint8Array));
    expect(await answers()).toEqual(hashes.map((sha256) => ({ sha256, ms: 1 })));
    expect(world.list("runs")).toEqual(["r/spec.json", "plan.json"]);
  });

  test("whose partial differs by other code has another hash", async () => {
    const { world, answers } = await finished();
    const kept = await world.bytesOf(world.names.results, results.hashes(1, 0));
    Object.assign(world.ports.userCode, inlineCode({ ...joining, compute: () => ({ text: "?", pad: "" }) }));
    await world.work(verify(1));
    expect(await answers()).not.toContainEqual({
      sha256: Buffer.from(kept.subarray(32, 64)).toString("hex"),
      ms: 1,
    });
    expect(await answers()).toHaveLength(1);
  });

  test("and fails is tried again by a copy; the last attempt writes why, and no failure record", async () => {
    const { world, answers } = await finished();
    const compute = () => Promise.reject(new Error("no\nluck, ünlucky"));
    Object.assign(world.ports.userCode, inlineCode({ ...joining, compute }));
    await world.work(verify(2));
    expect(await world.messages("urgent")).toEqual([{ ...verify(2), tries: 1 }]);
    await world.work({ ...verify(2), tries: 4 });
    const error = {
      code: "calculation-threw",
      message: expect.stringMatching(/^chunk 4: no\nluck, ünlucky \(verifyPack/),
    };
    expect(await answers()).toEqual([{ error }]);
    expect(world.list("runs")).toEqual(["r/spec.json", "plan.json"]);
  });

  test("and does not exist is answered at once", async () => {
    const { world, answers } = await finished();
    await world.work(verify(4));
    const error = { code: "bad-range", message: "run r has 4 packs, and no pack 4" };
    expect(await answers()).toEqual([{ error }]);
  });
});
