import { describe, expect, test } from "vitest";
import type { AnyCalculation } from "../../src/engine/calculation/contract.ts";
import type { MessageOf } from "../../src/engine/model/message.ts";
import { parseOutputFacts } from "../../src/engine/model/output.ts";
import type { Spec } from "../../src/engine/model/run.ts";
import { at, computeOf, inlineCode, joining, workerWorld } from "./workerWorld.ts";

const kept = at.kept(0, 0).replace(at.root, "");

/** One pack of eight chunks, of which some throw. */
async function planned(more: Partial<Spec> = {}, compute: AnyCalculation["compute"] = joining.compute) {
  const bad = new Set([3]);
  const computed: number[] = [];
  const world = await workerWorld(
    inlineCode({
      ...joining,
      compute(chunk) {
        computed.push(chunk.index);
        if (bad.has(chunk.index)) throw new Error("no luck");
        return compute(chunk);
      },
    }),
  );
  const request = { calculation: "joining", params: { chunks: 8 }, packSize: 8, attempts: 1, ...more };
  await world.submit(request);
  const code = "code 1";
  await world.work({ v: 1, run: "r", uid: "u", gen: 1, send: 1, turn: 0, kind: "plan" });
  const named = await world.named();
  const plan = await world.plan();
  const message = (gen: number): MessageOf<"compute"> =>
    ({ ...computeOf(plan, 0, gen), ...named, code }) as MessageOf<"compute">;
  const work = async (gen: number, delivered: Partial<MessageOf<"compute">> = {}) => {
    computed.length = 0;
    await world.mark({ generation: gen });
    await world.work({ ...message(gen), ...delivered });
    return [...computed];
  };
  const { runs } = world.names;
  const has = (name: string): boolean => world.list("runs").includes(name);
  const text = async () => Buffer.from(await world.bytesOf(runs, at.part(0, 0))).toString();
  return { world, bad, work, has, text, at: [runs, at.kept(0, 0)] as const, named };
}

const part = at.part(0, 0).replace(at.root, "");
const all = '{"text":"0,1,2,3,4,5,6,7","pad":""}';

describe("what is kept of a pack whose chunks failed", () => {
  test("is of no use before the first attempt, which reads nothing, and is deleted with the last", async () => {
    const { world, bad, work, has, text } = await planned();
    expect(await work(1)).toEqual([0, 1, 2, 3, 4, 5, 6, 7].slice(0, 4));
    expect([has(kept), has(part)]).toEqual([true, false]);
    bad.clear();
    expect(await work(2)).toEqual([3, 4, 5, 6, 7]);
    expect(await text()).toBe(all);
    expect([has(kept), has(part)]).toEqual([false, true]);
    expect(world.list("runs").filter((name) => name.startsWith("failed/"))).toHaveLength(1);
  });

  test("stays beside a partial with gaps, and grows until nothing is missing", async () => {
    const { bad, work, has, text } = await planned({ tolerate: { chunks: 4 } });
    bad.add(6);
    await work(1);
    expect(await text()).toBe('{"text":"0,1,2,4,5,7","pad":""}');
    bad.delete(3);
    expect(await work(2)).toEqual([3, 6]);
    expect(await text()).toBe('{"text":"0,1,2,3,4,5,7","pad":""}');
    bad.clear();
    expect(await work(3)).toEqual([6]);
    expect([await text(), has(kept)]).toEqual([all, false]);
  });

  test.each([
    ["another code", { code: "code 2" }],
    ["another plan", { plan: "0000000000000000" }],
    ["other inputs or parameters", { key: "another" }],
    ["no key", { key: undefined }],
  ])("is left alone where it is of %s", async (_what, other) => {
    const { world, bad, work, text, at: blob } = await planned({ tolerate: { chunks: 4 } });
    await work(1);
    const found = await world.storage.blobs.read(...blob);
    if (found.kind === "missing") throw new Error("nothing is kept");
    const { etag, contentType, metadata } = found.properties;
    const { code, plan, key, ms, attempt } = { ...parseOutputFacts(contentType), ...other };
    const type = ["application/octet-stream", `ms=${ms}`, `attempt=${attempt}`, `plan=${plan}`];
    type.push(`code=${encodeURIComponent(code ?? "")}`, ...(key === undefined ? [] : [`key=${key}`]));
    await world.storage.blobs.replace(...blob, found.body, {
      ...{ ifMatch: etag, contentType: type.join("; "), metadata },
    });
    bad.clear();
    expect(await work(2)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(await text()).toBe(all);
  });

  test.each([
    ["other bytes", (body: Uint8Array) => body.with(body.length - 1, 0), false],
    ["bytes that are no spans", (body: Uint8Array) => body.slice(1), true],
  ])("is left alone with %s", async (_what, change, isHashed) => {
    const { world, bad, work, text, at: blob } = await planned({ tolerate: { chunks: 4 } });
    await work(1);
    const found = await world.storage.blobs.read(...blob);
    if (found.kind === "missing") throw new Error("nothing is kept");
    const { etag, contentType, metadata } = found.properties;
    const body = change(found.body);
    const { hash } = await import("node:crypto");
    const told = isHashed ? { sha256: hash("sha256", body) } : metadata;
    await world.storage.blobs.replace(...blob, body, { ifMatch: etag, contentType, metadata: told });
    bad.clear();
    expect(await work(2)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(await text()).toBe(all);
  });

  test("makes a partial that names the files which its chunks saved earlier", async () => {
    const { world, bad, work } = await planned({ tolerate: { chunks: 4 } }, async (chunk) => {
      if (chunk.index === 0) await chunk.files.save(Buffer.from("rows"), "txt");
      return joining.compute(chunk);
    });
    await work(1);
    bad.clear();
    expect(await work(2)).toEqual([3]);
    const found = await world.storage.blobs.head(world.names.runs, at.part(0, 0));
    if (found.kind === "missing") throw new Error("there is no partial");
    expect(parseOutputFacts(found.properties.contentType).saves).toBe(true);
  });

  test("costs the pack nothing where storage refuses it", async () => {
    const { world, bad, work, has, text } = await planned({ tolerate: { chunks: 4 } });
    const { blobs } = world.storage;
    const create = blobs.create.bind(blobs);
    blobs.create = (container, name, ...more) =>
      name.includes("/kept/") ? Promise.reject(new Error("no")) : create(container, name, ...more);
    await work(1);
    expect([await text(), has(kept)]).toEqual(['{"text":"0,1,2,4,5,6,7","pad":""}', false]);
    bad.clear();
    expect(await work(2)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(await text()).toBe(all);
  });

  test("is read by a further attempt or send of the same generation", async () => {
    for (const later of [{ tries: 1 }, { send: 2 }, { asks: { times: 1, waitedS: 1 } }]) {
      const { bad, work, text } = await planned();
      await work(1);
      bad.clear();
      expect(await work(1, later)).toEqual([3, 4, 5, 6, 7]);
      expect(await text()).toBe(all);
    }
  });
});
