import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findManifest, openResult } from "../../src/engine/client/result.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { startRealApp } from "../support/realApp.ts";

const mb = 2 ** 20;
const bytes = 256 * mb;
/** An instance with two threads at work has some 300 MB without any result. */
const residentMbMax = 420;
const calculations = [join(import.meta.dirname, "../fixtures/sequence.calculation.ts")];

/** The most that was ever resident, in MB (`man 5 proc_pid_status`). */
const residentMost = (pid: number | undefined): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_024;

test.runIf(process.platform === "linux")(
  "a result of 256 MB is joined from the files of its packs, and no instance holds it in memory",
  async () => {
    const app = await startRealApp({ instances: 2, calculations });
    await using _ = { [Symbol.asyncDispose]: () => app.stop() };
    const { client, until } = app;
    const params = { chunks: bytes / (2 * mb), chunkBytes: 2 * mb };
    await submit(client, { calculation: "long-sequence", params, id: "large" });
    expect((await until("large", ({ active }) => !active)).word).toBe("complete");
    const resident = app.instances.instances.map(({ pid }) => residentMost(pid));

    const manifest = await findManifest(client, "large");
    expect(manifest).toMatchObject({ bytes, contentType: "application/octet-stream" });
    const sum = createHash("sha256");
    const { body } = await openResult(client, manifest);
    let at = 0;
    for await (const piece of body) {
      sum.update(piece);
      if (at % 8 === 0 && piece.length >= 8) expect(Buffer.from(piece).readBigUInt64LE(0)).toBe(BigInt(at));
      at += piece.length;
    }
    expect([at, sum.digest("hex")]).toEqual([bytes, manifest.sha256]);
    for (const most of resident) expect(most).toBeLessThan(residentMbMax);
  },
);
