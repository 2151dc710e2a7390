import { execFileSync } from "node:child_process";
import { createCipheriv } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inventory } from "../../../src/calculations/inventory.ts";
import { folderFiles } from "./folderFiles.ts";
import { type CalculationBench, cpuGoal } from "./measure.ts";
import { serialRun } from "./serialRun.ts";

/** Files of a megabyte, beside `sha256sum` in one process. */
export const inventoryBench: CalculationBench = {
  name: "inventory",
  unit: "bytes",
  async measure({ quick, say }) {
    const folder = await mkdtemp(join(tmpdir(), "leasefold-inventory-"));
    try {
      const count = quick ? 64 : 512;
      for (let number = 0; number < count; number += 1) {
        await writeFile(join(folder, nameOf(number)), fileOf(number));
      }
      const { seconds, result } = await serialRun(inventory, { source: "files/" }, folderFiles(folder));
      const figures = { perS: (count * fileBytes) / seconds, seconds };
      const startedMs = performance.now();
      const told = sha256sum(folder);
      if (told === undefined) {
        say("sha256sum is not installed");
        return figures;
      }
      const other = (performance.now() - startedMs) / 1000;
      const lines = Buffer.from(result.body).toString().split("\n").slice(0, count);
      const ours = lines.map((line) => JSON.parse(line)).map(({ path, sha256 }) => `${sha256}  ${path}`);
      if (ours.join("\n") !== told.trimEnd()) throw new Error("sha256sum gives other hashes");
      return { ...figures, "sha256sum-seconds": other, "ratio-to-sha256sum": seconds / other };
    } finally {
      await rm(folder, { recursive: true });
    }
  },
  goals: [cpuGoal("inventory")],
  whole: (quick) => ({
    params: { source: "bench/files/" },
    async fill(upload) {
      for (let number = 0; number < (quick ? 300 : 1_024); number += 1) {
        await upload(`bench/files/${nameOf(number)}`, fileOf(number));
      }
    },
  }),
};

const fileBytes = 1_000_000;
const nameOf = (number: number): string => `${String(number).padStart(5, "0")}.bin`;

/** Bytes that no disk and no storage shortens: the key stream of a cipher. */
const fileOf = (number: number): Uint8Array =>
  createCipheriv("aes-128-ctr", Buffer.alloc(16, "leasefold"), Buffer.alloc(16, `file ${number} `)).update(
    Buffer.alloc(fileBytes),
  );

/** Of all files of a folder by name; undefined where there is no such program. */
function sha256sum(folder: string): string | undefined {
  try {
    return execFileSync("sh", ["-c", "sha256sum -- *"], { cwd: folder, encoding: "utf8" });
  } catch {
    return undefined;
  }
}
