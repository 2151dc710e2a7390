import { join } from "node:path";
import { expect, test } from "vitest";
import type { FileAccess } from "../../../src/engine/calculation/files.ts";
import { systemClock } from "../../../src/engine/storage/system.ts";
import type { Finding } from "../check/laws/findings.ts";
import { lawsInThread } from "../check/lawsInThread.ts";

const inventory = join(import.meta.dirname, "../../../examples/inventory/inventory.ts");
const content = new Map([1, 2, 3].map((file) => [`c/${file}`, Buffer.from(`file ${file}`)]));
const access: FileAccess = {
  async list(source) {
    const found = [...content].filter(([path]) => path.startsWith(source));
    return { files: found.map(([path, bytes]) => ({ path, bytes: bytes.length, etag: path })) };
  },
  read: async ({ path }, from, to) => new Uint8Array(content.get(path)?.subarray(from, to) ?? []),
};

test("a check of a calculation that lists and reads files gets them, and tries every law", async () => {
  const findings: Finding[] = [];
  const err = { isTty: false, color: false, columns: 80, rows: 24, write: async () => {}, draw() {} };
  const { ended } = await lawsInThread(
    { clock: systemClock, signal: new AbortController().signal, err },
    {
      ...{
        files: [inventory],
        name: "inventory",
        tokens: ["--source", "c/"],
        pairs: [],
        own: [],
        limitMs: 15_000,
      },
      chunks: 10,
    },
    { access, memoryMb: 256, packLimitMs: 60_000 },
    (finding) => void findings.push(finding),
  );
  expect(ended).toMatchObject({ count: 3 });
  expect(findings.filter(({ outcome }) => outcome === "holds").map(({ law }) => law)).toContain("compute");
  expect(findings.filter(({ outcome }) => outcome === "broken")).toEqual([]);
});
