import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  type FileAccess,
  type FileFact,
  filesOver,
  noAccess,
  noFiles,
  releasePiece,
  releaseSpares,
} from "../../src/engine/calculation/files.ts";
import { CalculationError } from "../../src/engine/model/errors.ts";
import { calculationLimits } from "../../src/engine/model/limits.ts";

const mb = 1024 * 1024;
const factOf = (bytes: number): FileFact => ({ path: "c/a", bytes, etag: "1" });

/** Files whose every byte tells its place (small ones, for speed), and what was asked of them. */
function counted(refusal?: { readonly from: number }) {
  const asked: [number, number][] = [];
  const access: FileAccess = {
    list: async (source, cursor) => ({
      files: [{ ...factOf(1), path: `${source}${cursor ?? 0}` }],
      cursor: cursor === "2" ? undefined : String(Number(cursor ?? 0) + 1),
    }),
    async read(_file, from, to) {
      asked.push([from, to]);
      if (refusal !== undefined && from >= refusal.from) throw new CalculationError("file-changed", "c/a");
      const bytes = new Uint8Array(to - from);
      return bytes.length > mb ? bytes : bytes.map((_, index) => (from + index) % 251);
    },
  };
  return { asked, files: filesOver(access) };
}

describe("files", () => {
  test("files are listed page by page, and no page is requested that nobody reads", async () => {
    const { files } = counted();
    const paths: string[] = [];
    for await (const file of files.list("c/x")) paths.push(file.path);
    expect(paths).toEqual(["c/x0", "c/x1", "c/x2"]);
    for await (const file of files.list("c/x")) {
      expect(file.path).toBe("c/x0");
      break;
    }
  });

  test("files are read in pieces of 8 MB, one ahead and never two", async () => {
    const { files, asked } = counted();
    const sizes: number[] = [];
    for await (const piece of files.read(factOf(20 * mb + 5))) {
      sizes.push(piece.length);
      expect(asked.length).toBe(Math.min(3, sizes.length + 1));
    }
    expect(sizes).toEqual([8 * mb, 8 * mb, 4 * mb + 5]);
    expect(asked).toEqual([
      [0, 8 * mb],
      [8 * mb, 16 * mb],
      [16 * mb, 20 * mb + 5],
    ]);
  });

  test("the memory of a piece is freed once it is released, and that of other bytes never", async () => {
    const { files } = counted();
    const pieces: Uint8Array[] = [];
    for await (const piece of files.read(factOf(9 * mb))) {
      const view = piece.subarray(1);
      releasePiece(view);
      expect(view.length).toBe(piece.length - 1);
      releasePiece(piece);
      pieces.push(piece, view);
    }
    expect(pieces.map(({ length }) => length)).toEqual([0, 0, 0, 0]);
    const part = filesOver({
      list: async () => ({ files: [] }),
      read: async (_, from, to) => new Uint8Array(100).subarray(from, to),
    });
    for await (const piece of part.read(factOf(50))) {
      releasePiece(piece);
      expect(piece.length).toBe(50);
    }
    const own = new Uint8Array(5);
    releasePiece(own);
    expect(own.length).toBe(5);
  });

  test("the memory of released pieces of full size serves the next ones, until it is freed", async () => {
    releaseSpares();
    const given: (number | undefined)[] = [];
    const files = filesOver({
      list: async () => ({ files: [] }),
      async read(_, from, to, _signal, spare) {
        given.push(spare?.byteLength);
        return new Uint8Array(spare ?? new ArrayBuffer(to - from)).fill(from / (8 * mb));
      },
    });
    const seen: number[] = [];
    const readAll = async () => {
      for await (const piece of files.read(factOf(33 * mb))) {
        seen.push(piece[0] ?? -1, piece.at(-1) ?? -1);
        releasePiece(piece);
        expect(piece.length).toBe(0);
      }
    };
    await readAll();
    // One piece is read ahead, and the last one is short.
    expect(given.splice(0)).toEqual([undefined, undefined, 8 * mb, 8 * mb, undefined]);
    expect(seen).toEqual([0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
    await readAll();
    expect(given.splice(0)).toEqual([8 * mb, 8 * mb, 8 * mb, 8 * mb, undefined]);
    releaseSpares();
    await readAll();
    expect(given.slice(0, 2)).toEqual([undefined, undefined]);
    releaseSpares();
  });

  test.each([
    ["all of it", {}, 0, 1_000],
    ["from a place on", { from: 990 }, 990, 1_000],
    ["up to a place", { to: 10 }, 0, 10],
    ["between two places", { from: 400, to: 402 }, 400, 402],
    ["over its end", { from: 990, to: 2_000 }, 990, 1_000],
    ["nothing", { from: 7, to: 7 }, 7, 7],
    ["beyond its end", { from: 1_000 }, 0, 0],
    ["far beyond its end", { from: 5_000 }, 0, 0],
  ])("give %s", async (_, range, from, to) => {
    const { files, asked } = counted();
    const pieces: number[] = [];
    for await (const piece of files.read(factOf(1_000), range)) pieces.push(...piece);
    expect(pieces).toEqual(Array.from({ length: to - from }, (_, index) => (from + index) % 251));
    expect(asked).toHaveLength(to > from ? 1 : 0);
  });

  test.each([{ from: -1 }, { from: 1.5 }, { to: Number.NaN }, { from: 5, to: 4 }])(
    "a read of the invalid range %j fails",
    async (range) => {
      const read = counted().files.read(factOf(10), range)[Symbol.asyncIterator]().next();
      await expect(read).rejects.toMatchObject({
        code: "bad-range",
        message: expect.stringMatching(/^c\/a: /),
      });
    },
  );

  test("an empty file is still requested, because it may be gone", async () => {
    const { files, asked } = counted();
    for await (const _ of files.read(factOf(0))) expect.fail("it has no bytes");
    expect(asked).toEqual([[0, 0]]);
    const gone = counted({ from: 0 }).files.read(factOf(0));
    await expect(gone[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "file-changed" });
  });

  test("a failed read ahead is ignored if the reader stops early", async () => {
    const unhandled: unknown[] = [];
    const keep = (error: unknown) => void unhandled.push(error);
    process.on("unhandledRejection", keep);
    const { files, asked } = counted({ from: 8 * mb });
    for await (const piece of files.read(factOf(20 * mb))) {
      expect(piece.length).toBe(8 * mb);
      break;
    }
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", keep);
    expect([asked.length, unhandled]).toEqual([2, []]);
  });

  test("a failed read ahead throws if the reader continues", async () => {
    let read = 0;
    const reading = (async () => {
      for await (const piece of counted({ from: 8 * mb }).files.read(factOf(20 * mb))) read += piece.length;
    })();
    await expect(reading).rejects.toMatchObject({ code: "file-changed" });
    expect(read).toBe(8 * mb);
  });

  test("a calculation without storage has no files", async () => {
    await expect(noFiles.list("c/")[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: "no-files",
    });
  });
});

describe("a file that a chunk saves", () => {
  test("is named by its bytes, which alone are handed over, and not stored where nothing stores it", async () => {
    const saved: [string, Uint8Array][] = [];
    const save = async (name: string, body: Uint8Array) => void saved.push([name, body]);
    const bytes = Buffer.from("within a larger buffer").subarray(0, 6);
    const file = await filesOver({ ...noAccess, save }).save(bytes, "txt");
    expect(file).toEqual({ name: `${hash("sha256", "within")}.txt`, bytes: 6 });
    expect(saved).toEqual([[file.name, new Uint8Array(Buffer.from("within"))]]);
    expect(saved[0]?.[1].buffer.byteLength).toBe(6);
    expect(await noFiles.save(Buffer.from("within"), "txt")).toEqual(file);
  });

  test("is refused beyond its limit, and with an extension that is no part of a name", async () => {
    const large = new Uint8Array(calculationLimits.savedBytesMax + 1);
    await expect(noFiles.save(large, "txt")).rejects.toMatchObject({ code: "file-too-large" });
    await expect(noFiles.save(Buffer.from("x"), "../a")).rejects.toMatchObject({ code: "bad-file" });
  });
});
