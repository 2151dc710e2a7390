import { link, mkdtemp, readdir, readFile, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { submit } from "../../../src/engine/client/submit.ts";
import { StorageError } from "../../../src/engine/model/errors.ts";
import type { BlobStore } from "../../../src/engine/storage/ports.ts";
import { clientWorld, failureOf, names } from "../../../test/client/clientWorld.ts";
import { inOrder, partBytes } from "../../client/download.ts";
import { saveResult } from "../saveResult.ts";
import { printed } from "./cliWorld.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-test-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Three parts and a half, each of another letter. */
const large = ["a", "b", "c", "d"]
  .map((letter) => letter.repeat(partBytes))
  .join("")
  .slice(0, -partBytes / 2);

describe("a large result, saved to a file", () => {
  /** `read` may take the place of each read of a part, told by its number. */
  async function world(
    read: (part: number) => Promise<"missing" | "conflict" | undefined> = async () => undefined,
  ) {
    const { client, clientOn, storage, putResult } = await clientWorld();
    const manifest = await putResult(
      await submit(client, { calculation: "sum", params: { to: 1 }, id: "r1" }),
      large,
    );
    const asked: number[] = [];
    const stream: BlobStore["stream"] = async (container, name, options) => {
      const part = (options?.offset ?? 0) / partBytes;
      asked.push(part);
      const kind = await read(part);
      return kind === undefined ? storage.blobs.stream(container, name, options) : { kind };
    };
    const err = printed();
    const stop = new AbortController();
    const on = clientOn({ ...storage, blobs: { ...storage.blobs, stream } });
    const cli = { folder, signal: stop.signal, err, clock: client.clock };
    const save = () => saveResult(cli, on, manifest, "out.json");
    return { save, asked, err, stop, manifest, part: `out.json.${manifest.sha256.slice(0, 16)}.part` };
  }
  const saved = () => readFile(join(folder, "out.json"), "utf8");

  it("after storage went away, continues with the first part that it has not", async () => {
    let away = true;
    const { save, asked, err, part } = await world(async (number) => {
      if (away && number === 2) throw new StorageError("busy", "", undefined, "no answer");
      return undefined;
    });
    expect(await failureOf(save())).toMatchObject({ code: "storage-busy" });
    expect(await readdir(folder)).toEqual([part]);
    expect(err.text()).toBe(`16.8 MB are kept in ${join(folder, part)}: the same command continues\n`);
    away = false;
    asked.length = 0;
    await save();
    expect(asked).toEqual([2, 3]);
    expect(await saved()).toBe(large);
    expect(await readdir(folder)).toEqual(["out.json"]);
  });

  it("after Ctrl-C, keeps what is there", async () => {
    const { save, stop, part } = await world(async (number) => {
      if (number === 3) stop.abort();
      return undefined;
    });
    expect(await failureOf(save())).toMatchObject({ name: "AbortError" });
    expect((await readdir(folder)).filter((name) => name !== part)).toEqual([]);
  });

  it("is read anew if what was kept has other bytes, as a crash of the machine may leave it", async () => {
    const { save, asked, part } = await world();
    await writeFile(join(folder, part), "");
    await truncate(join(folder, part), 2 * partBytes);
    await save();
    expect(asked).toEqual([2, 3, 0, 1, 2, 3]);
    expect(await saved()).toBe(large);
  });

  it("is not touched by what somebody has put in the place of the kept part", async () => {
    const other = join(folder, "other");
    await writeFile(other, "others");
    const { save, part } = await world();
    for (const put of [symlink, link]) {
      await put(other, join(folder, part));
      expect(await failureOf(save())).toMatchObject({ code: "bad-file" });
      expect(await readFile(other, "utf8")).toBe("others");
      await rm(join(folder, part));
    }
  });

  it.each([
    ["missing", "result-missing"],
    ["conflict", "result-replaced"],
  ] as const)("is not kept if it is %s between two parts", async (kind, code) => {
    const { save } = await world(async (number) => (number === 2 ? kind : undefined));
    expect(await failureOf(save())).toMatchObject({ code });
    expect(await readdir(folder)).toEqual([]);
  });

  it("is written by two commands at once to the same file", async () => {
    const { save } = await world();
    const paths = await Promise.all([save(), save()]);
    expect(new Set(paths).size).toBe(1);
    expect(await saved()).toBe(large);
    expect(await readdir(folder)).toEqual(["out.json"]);
  });

  it("is read under the ETag that it had at the begin", async () => {
    const { client, storage, putResult } = await clientWorld();
    const manifest = await putResult(
      await submit(client, { calculation: "sum", params: { to: 1 }, id: "r1" }),
      large,
    );
    const head: BlobStore["head"] = async (...asked) => {
      const found = await storage.blobs.head(...asked);
      storage.operator.overwriteBlob(names.results, manifest.blob, large);
      return found;
    };
    const on = { ...client, storage: { ...storage, blobs: { ...storage.blobs, head } } };
    const cli = { folder, signal: new AbortController().signal, err: printed(), clock: client.clock };
    expect(await failureOf(saveResult(cli, on, manifest, "out"))).toMatchObject({ code: "result-replaced" });
  });
});

describe("what is read ahead", () => {
  it("comes in order, at most so much at once, and no further than its reader", async () => {
    const open = new Map<number, () => void>();
    let begun = 0;
    const given = inOrder(
      5,
      (index) => {
        begun += 1;
        return new Promise<number>((resolve) => open.set(index, () => resolve(index)));
      },
      { atOnce: 2 },
    );
    const first = given.next();
    await Promise.resolve();
    expect(begun).toBe(2);
    open.get(1)?.();
    open.get(0)?.();
    expect(await first).toEqual({ done: false, value: 0 });
    expect(begun).toBe(2);
    expect(await given.next()).toEqual({ done: false, value: 1 });
    expect(begun).toBe(3);
  });

  it("ends what is under way when the reader stops", async () => {
    const ended: number[] = [];
    const given = inOrder(
      9,
      async (index, signal) => {
        signal.addEventListener("abort", () => ended.push(index));
        return index;
      },
      { atOnce: 3 },
    );
    for await (const _ of given) break;
    expect(ended).toEqual([0, 1, 2]);
  });
});
