import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { inventory, inventoryFilesMax, merkleRoot } from "../../src/calculations/inventory.ts";
import { runSerially } from "../../src/calculations/leasefold.ts";
import { type FileFact, type Files, filesOver } from "../../src/engine/calculation/files.ts";
import type { CoveringPart } from "../../src/engine/calculation/foldParts.ts";
import { parseParams } from "../../src/engine/calculation/params.ts";
import { runCompute, runFinish, runPlan } from "../../src/engine/calculation/runJob.ts";
import { CalculationError, StorageError } from "../../src/engine/model/errors.ts";
import { storageErrorOfCode } from "../../src/engine/storage/storageErrors.ts";
import { chunkParts, computePart, foldPart } from "../support/coveringParts.ts";
import { memoryFiles } from "../support/memoryFiles.ts";

const textOf = (body: Uint8Array): string => Buffer.from(body).toString();
const manifestOf = async (content: Map<string, Uint8Array | string>, source: string, batch = 16) =>
  textOf((await runSerially(inventory, { source, batch }, memoryFiles(content, 1_000))).body);
const linesOf = (manifest: string): string[] => manifest.split("\n").slice(0, -1);

/** The root as RFC 6962 writes it down: by the split of the list, from the top. */
function rootFromTheTop(leaves: readonly Uint8Array[]): Buffer {
  const sha256 = (...parts: Uint8Array[]) => createHash("sha256").update(Buffer.concat(parts)).digest();
  if (leaves.length === 0) return sha256();
  if (leaves.length === 1) return sha256(Buffer.of(0), leaves[0] as Uint8Array);
  const left = 2 ** Math.ceil(Math.log2(leaves.length) - 1);
  const [a, b] = [rootFromTheTop(leaves.slice(0, left)), rootFromTheTop(leaves.slice(left))];
  return sha256(Buffer.of(1), a, b);
}

describe("the Merkle root", () => {
  // The tree of google/certificate-transparency's tests (merkle_tree_test): roots over the first n of these leaves.
  const leaves = [
    "",
    "00",
    "10",
    "2021",
    "3031",
    "40414243",
    "5051525354555657",
    "606162636465666768696a6b6c6d6e6f",
  ];
  test.each([
    [0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    [1, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"],
    [2, "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"],
    [3, "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"],
    [4, "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"],
    [5, "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4"],
    [6, "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef"],
    [7, "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c"],
    [8, "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"],
  ])("of %i leaves is the published one", (count, root) => {
    expect(merkleRoot(leaves.slice(0, count).map((hex) => Buffer.from(hex, "hex")))).toBe(root);
  });

  test("the Merkle root equals its definition for any number of leaves", () => {
    for (let count = 0; count <= 70; count += 1) {
      const some = Array.from({ length: count }, (_, index) => Buffer.from(`leaf ${index}`));
      expect(merkleRoot(some)).toBe(rootFromTheTop(some).toString("hex"));
    }
  });
});

describe("inventory", () => {
  test.runIf(process.platform === "linux")(
    "gives what sha256sum gives for the same files, and sorts as it does by bytes",
    async () => {
      const folder = await mkdtemp(join(tmpdir(), "leasefold-inventory-"));
      const content = new Map<string, Uint8Array>();
      const paths = [
        "b/ä",
        "b/z",
        "a b",
        "empty",
        "Ω",
        "\u{1F600}",
        "\uFFFD",
        "b.csv",
        "b/🙂/x",
        "quote\"'",
        "large",
      ];
      for (const [index, path] of paths.entries()) {
        const bytes = path === "large" ? 300_007 : path === "empty" ? 0 : 10 + index;
        const body = Buffer.from(Array.from({ length: bytes }, (_, at) => (at * 31 + index) % 256));
        content.set(`data/all/${path}`, body);
        await mkdir(dirname(join(folder, path)), { recursive: true });
        await writeFile(join(folder, path), body);
      }
      const command = "find . -type f -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 sha256sum --zero";
      const said = execFileSync("sh", ["-c", command], { cwd: folder }).toString().split("\0").slice(0, -1);
      await rm(folder, { recursive: true });
      const entries = said.map((line) => {
        const [sha256, path] = [line.slice(0, 64), line.slice(66)];
        return { path, bytes: content.get(`data/all/${path}`)?.length, sha256 };
      });
      expect(entries).toHaveLength(paths.length);
      const expected = entries.map((entry) => JSON.stringify(entry));
      const bytes = entries.reduce((sum, entry) => sum + (entry.bytes as number), 0);
      const root = rootFromTheTop(expected.map((line) => Buffer.from(line))).toString("hex");
      const summary = JSON.stringify({ files: paths.length, bytes, merkleRoot: root });
      expect(linesOf(await manifestOf(content, "data/all/"))).toEqual([...expected, summary]);
    },
  );

  test("inventory gives the same bytes for any batch, split and order of the work", async () => {
    const content = new Map(
      Array.from({ length: 40 }, (_, index) => [`c/${(index * 17) % 40}`, `file ${index}`.repeat(index)]),
    );
    const files = memoryFiles(content);
    const whole = await manifestOf(content, "c/");
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 }),
        async (batch, packs) => {
          const params = { source: "c/", batch };
          const inputs: unknown[] = [];
          const { chunks } = await runPlan(inventory, params, async (one) => void inputs.push(...one), {
            files,
          });
          const parts: CoveringPart[] = [];
          for (let from = 0, pack = 0; from < chunks; pack += 1) {
            const to = Math.min(chunks, from + (packs[pack % packs.length] as number));
            const job = { params, from, to, count: chunks, inputs: inputs.slice(from, to) };
            parts.push(await computePart(inventory, job, files));
            from = to;
          }
          // As a tree folds: neighbours first, then their nodes.
          const middle = Math.floor(parts.length / 2);
          const halves = [parts.slice(0, middle), parts.slice(middle)].filter(({ length }) => length > 0);
          const nodes = await Promise.all(
            halves.map((some) => foldPart(inventory, params, some as [CoveringPart])),
          );
          const { body } = await runFinish(inventory, {
            params,
            parts: nodes,
            folded: chunks,
            count: chunks,
          });
          expect(textOf(body)).toBe(whole);
        },
      ),
      { numRuns: 40 },
    );
  });

  test("paths are relative to the folder of the source, so that a copy has the same manifest", async () => {
    const at = (root: string) => new Map([`${root}a`, `${root}d/b`].map((path) => [path, "x"]));
    const one = await manifestOf(at("c/"), "c");
    expect(linesOf(one).map((line) => (JSON.parse(line) as { path?: string }).path)).toEqual([
      "a",
      "d/b",
      undefined,
    ]);
    expect(await manifestOf(at("c/"), "c/")).toBe(one);
    expect(await manifestOf(at("other/deep/down/"), "other/deep/down/")).toBe(one);
    const half = await manifestOf(
      new Map([
        ["c/x/data-1", ""],
        ["c/x/data-2", ""],
      ]),
      "c/x/data",
    );
    expect(half).toContain('"path":"data-1"');
  });

  test("many small files share a chunk, and each large file has its own", async () => {
    const sizes = [1, 2, 3, 9e6, 9e6, 5, 5e6, 5e6, 1];
    const facts = sizes.map((bytes, index) => ({ path: `c/${index}`, bytes, etag: "1" }));
    expect((await planned(facts, 2)).map((one) => one.map(({ bytes }) => bytes))).toEqual([
      [1, 2],
      [3],
      [9e6],
      [9e6],
      [5, 5e6],
      [5e6, 1],
    ]);
    const long = Array.from({ length: 256 }, (_, index) => ({
      path: `c/${"ж".repeat(1_000)}${1_000 + index}`,
      bytes: 1,
      etag: "1",
    }));
    const batches = await planned(long, 256);
    expect(batches.flat()).toEqual(long);
    for (const one of batches) expect(JSON.stringify(one).length * 2).toBeLessThan(64 * 1024);
  });

  test("inventory names every file that it cannot read, and succeeds once they are back", async () => {
    const content = new Map(Array.from({ length: 9 }, (_, index) => [`c/${index}`, `file ${index}`]));
    const files = memoryFiles(content);
    const inputs: FileFact[][] = [];
    const params = { source: "c/", batch: 16 };
    await runPlan(inventory, params, async (one) => void inputs.push(...(one as FileFact[][])), { files });
    const compute = () => runCompute(inventory, { params, from: 0, to: 1, count: 1, inputs }, files);
    const before = textOf(await compute());
    content.delete("c/3");
    const one = await compute().catch((error: unknown) => error);
    expect(one).toBeInstanceOf(CalculationError);
    expect(one).toMatchObject({ code: "file-missing", message: "chunk 0: c/3 is not there" });
    content.set("c/5", "other");
    content.clear();
    await expect(compute()).rejects.toMatchObject({
      message: expect.stringMatching(
        /^chunk 0: 9 files cannot be read: c\/0 is not there; .*c\/4 is not there; and 4 more$/,
      ),
    });
    for (let index = 0; index < 9; index += 1) content.set(`c/${index}`, `file ${index}`);
    expect(textOf(await compute())).toBe(before);
  });

  test("inventory rethrows the error of busy storage, even if another file is missing", async () => {
    const busy = storageErrorOfCode("blob", "ServerBusy", 503, "");
    const read = (fact: FileFact) =>
      Promise.reject(fact.path === "c/1" ? busy : new CalculationError("file-missing", ""));
    const files = filesOver({ list: async () => ({ files: [] }), read });
    const input = [0, 1, 2].map((index) => ({ path: `c/${index}`, bytes: 1, etag: "1" }));
    const chunk = { index: 0, count: 1, input, files, params: { source: "c/", batch: 16 } };
    await expect(inventory.compute(chunk)).rejects.toBeInstanceOf(StorageError);
  });

  test("a manifest without some chunks has no root and counts them", async () => {
    const params = { source: "c/", batch: 1 };
    const parts = chunkParts([Buffer.from('{"path":"a","bytes":5,"sha256":"00"}\n')]);
    const { body, contentType, extension } = await runFinish(inventory, {
      params,
      parts,
      folded: 1,
      count: 3,
    });
    expect(linesOf(textOf(body)).at(-1)).toBe('{"files":1,"bytes":5,"merkleRoot":null,"missingChunks":2}');
    expect([contentType, extension]).toEqual(["application/x-ndjson", "ndjson"]);
  });

  test("a prefix without files is refused with a hint to the right one", async () => {
    const run = runSerially(
      inventory,
      { source: "c/salse/", batch: 16 },
      memoryFiles(new Map([["c/sales/a", ""]])),
    );
    await expect(run).rejects.toMatchObject({
      code: "empty-source",
      message: 'no file begins with c/salse/; "leasefold upload" prints the source of what it uploaded',
    });
  });

  test("planning refuses more files than the limits before all of them are listed", async () => {
    const many = await planned(manyFiles(inventoryFilesMax, "f"), 256);
    expect(many.flat()).toHaveLength(inventoryFilesMax);
    let listed = 0;
    const endless = { ...filesOf(manyFiles(Number.POSITIVE_INFINITY, "f", () => listed++)) };
    await expect(planned(endless, 16)).rejects.toMatchObject({
      code: "too-many-files",
      message:
        "c/ has more than 100000 files, the limit of one inventory; start one run for each longer prefix",
    });
    expect(listed).toBeLessThanOrEqual(inventoryFilesMax + 1);
    await expect(planned(manyFiles(50_000, "l".repeat(900)), 16)).rejects.toMatchObject({
      message: expect.stringMatching(
        /^the manifest of c\/ is larger than 33554432 bytes \(partialBytesMax\) after 3\d{4} files; /,
      ),
    });
  });

  test.each([
    [{}, /^source: /],
    [{ source: "" }, /^source: /],
    [{ source: "c/", batch: 0 }, /^batch: .*1/],
    [{ source: "c/", batch: 257 }, /^batch: .*256/],
    [{ source: "c/", batch: 1.5 }, /^batch: /],
    [{ source: "c/", prefix: "x" }, /prefix/],
  ])("refuses the parameters %j by name", (params, message) => {
    expect(() => parseParams(inventory, params)).toThrow(message);
  });
});

function* manyFiles(count: number, name: string, onEach = () => {}): Generator<FileFact> {
  for (let index = 0; index < count; index += 1) {
    onEach();
    yield { path: `c/${name}${index}`, bytes: 1, etag: "1" };
  }
}

const filesOf = (facts: Iterable<FileFact>): Files => ({
  ...filesOver({ list: () => expect.fail(), read: () => expect.fail() }),
  async *list() {
    yield* facts;
  },
});

async function planned(facts: Iterable<FileFact> | Files, batch: number): Promise<FileFact[][]> {
  const files = "list" in facts ? facts : filesOf(facts);
  return [...((await inventory.plan({ source: "c/", batch }, { files })) as Iterable<FileFact[]>)];
}
