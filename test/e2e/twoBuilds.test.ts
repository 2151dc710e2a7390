import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import type { BlobStore } from "../../src/engine/storage/ports.ts";
import { startAzurite } from "../../src/tools/local/azurite.ts";
import { findAppDir } from "../../src/tools/local/embedded.ts";
import { ask, type Fleet, startFleet, until } from "../support/fleet.ts";
import { buildShifted, buildTag, lastTag } from "../support/otherBuild.ts";

/**
 * Two real builds beside each other through a run, with kills: neighboring releases of the present source, of which one writes
 * what the other only reads; and the last tag beside this build, once there is one.
 */
const calculations = [join(import.meta.dirname, "../fixtures/chain.calculation.ts")];
const request = { calculation: "chain", params: { chunks: 400, ms: 60 }, packSize: 2 };

let folder: string;
const tag = await lastTag();
const folders: Record<string, string> = {};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-test-"));
  folders["reading"] = await buildShifted(join(folder, "reading"), { writes: 0, reads: 1 });
  folders["next"] = await buildShifted(join(folder, "next"), { writes: 1, reads: 0 });
  folders["this"] = findAppDir();
  if (tag !== undefined) folders["tagged"] = await buildTag(join(folder, "tagged"), tag);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const killOne = (fleet: Fleet, which: number): Promise<void> =>
  fleet.instances[which]?.kill() ?? Promise.resolve();

/** Whoever is asked to submit a run writes its spec. */
async function versionOf(blobs: BlobStore, id: string): Promise<unknown> {
  const found = await blobs.read("leasefold-runs", `${id}/spec.json`);
  return found.kind === "found" ? (JSON.parse(Buffer.from(found.body).toString()) as { v: number }).v : found;
}

async function throughARun(first: string, second: string): Promise<void> {
  const azurite = await startAzurite({});
  const fleets: Fleet[] = [];
  try {
    const start = async (build: string) => {
      const fleet = await startFleet(build, folders[build] as string, azurite, calculations);
      fleets.push(fleet);
      azurite.onMessage((queue) => {
        for (const one of fleets) one.pollNow(queue);
      });
      return fleet;
    };
    const one = await start(first);
    const body = JSON.stringify({ ...request, id: "r" });
    await ask(one, "runs", { method: "POST", body });
    await until(one, "r", ({ packs }) => (packs?.done ?? 0) >= 20);
    const other = await start(second);
    await killOne(one, 0);
    await until(other, "r", ({ packs }) => (packs?.done ?? 0) >= 60);
    await killOne(other, 0);
    await killOne(one, 1);
    await until(other, "r", ({ packs }) => (packs?.done ?? 0) >= 100);
    await one.stopAll();
    const view = await until(other, "r", ({ word }) => /complete|failed/.test(word));
    expect(view.word).toBe("complete");
    const result = await (await ask(other, "runs/r/result")).text();
    await ask(other, "runs", {
      method: "POST",
      body: JSON.stringify({ ...request, id: "undisturbed", packSize: 20 }),
    });
    await until(other, "undisturbed", ({ word }) => word === "complete");
    expect(result).toBe(await (await ask(other, "runs/undisturbed/result")).text());
    const { blobs } = connectStorage({ connectionString: azurite.connectionString });
    const versions = await Promise.all(["r", "undisturbed"].map((id) => versionOf(blobs, id)));
    expect(versions).toEqual([first, second].map((build) => (build === "next" ? 2 : 1)));
    const dropped = await blobs.list("leasefold-runs", "_dropped/");
    expect(dropped.blobs).toEqual([]);
    const logs = fleets.flatMap(({ told }) => told).filter(({ kind }) => kind === "log");
    expect(logs.length).toBeGreaterThan(0);
    expect(JSON.stringify(logs)).not.toMatch(/needs-other-version|message-dropped|gave-way/);
  } finally {
    for (const fleet of fleets) await fleet.stopAll();
    await azurite.stop();
  }
}

describe("two builds beside each other", () => {
  test.each([
    ["reading", "next"],
    ["next", "reading"],
  ])("of neighboring releases: %s first, then %s joins", throughARun, 500_000);

  test.skipIf(tag === undefined).each([
    ["tagged", "this"],
    ["this", "tagged"],
  ])("of the last tag and of now, where tags were fetched: %s first, then %s joins", throughARun, 500_000);
});
