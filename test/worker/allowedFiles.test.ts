import { describe, expect, test } from "vitest";
import type { FileAccess } from "../../src/engine/calculation/files.ts";
import { readSettings } from "../../src/engine/model/settings.ts";
import { allowedFiles } from "../../src/engine/worker/blobFiles.ts";

const everything: FileAccess = {
  list: async (source) => ({ files: [{ path: `${source}a`, bytes: 1, etag: "1" }] }),
  read: async () => Uint8Array.of(1),
};
const { LEASEFOLD_SOURCES = [] } = readSettings({ LEASEFOLD_SOURCES: "lake, $web" });
const files = allowedFiles(everything, ["leasefold-inputs", ...LEASEFOLD_SOURCES]);
const fileAt = (path: string) => ({ path, bytes: 1, etag: "1" });

describe("a calculation's source", () => {
  test.each(["leasefold-inputs/", "leasefold-inputs/sales/2", "lake/x", "$web/"])(
    "may be %s",
    async (source) => {
      expect((await files.list(source, undefined)).files).toHaveLength(1);
      expect(await files.read(fileAt(`${source}a`), 0, 1)).toEqual(Uint8Array.of(1));
    },
  );

  test.each([
    "leasefold-results/r1/",
    "leasefold-runs/",
    "leasefold-coordination/",
    "$logs/",
    "leasefold-inputs2/",
    "/leasefold-inputs/",
    "LAKE/x",
    "",
  ])("cannot be %j, neither to list nor to read", async (source) => {
    const why = { code: "source-not-allowed", message: expect.stringContaining("LEASEFOLD_SOURCES") };
    await expect(files.list(source, undefined)).rejects.toMatchObject(why);
    await expect(files.read(fileAt(`${source}a`), 0, 1)).rejects.toMatchObject(why);
  });
});

test("a setting that names no containers is refused at the start", () => {
  expect(() => readSettings({ LEASEFOLD_SOURCES: "lake/x" })).toThrow(
    "LEASEFOLD_SOURCES=lake/x: use names of containers",
  );
});
