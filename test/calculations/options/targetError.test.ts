import { expect, test } from "vitest";
import { runSerially } from "../../../src/calculations/leasefold.ts";
import {
  estimates,
  type Moments,
  mergeMoments,
  noMoments,
} from "../../../src/calculations/options/moments.ts";
import { pathKernel, simulate } from "../../../src/calculations/options/simulate.ts";
import { options } from "../../../src/calculations/options.ts";
import type { Calculations } from "../../../src/engine/calculation/contract.ts";
import { describeParams, parseParams } from "../../../src/engine/calculation/params.ts";
import type { Client } from "../../../src/engine/client/client.ts";
import { ensureContainersAndQueues } from "../../../src/engine/client/containersAndQueues.ts";
import { verify } from "../../../src/engine/client/questions/verify.ts";
import { findManifest, openResult } from "../../../src/engine/client/result.ts";
import { status } from "../../../src/engine/client/status.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import { namesOf } from "../../../src/engine/model/names.ts";
import { memoryStorage } from "../../../src/engine/storage/memory/memoryStorage.ts";
import { systemClock as clock, systemRandom as random } from "../../../src/engine/storage/system.ts";
import { startAppInProcess } from "../../../src/tools/cli/check/twinRun.ts";
import { inlineCode } from "../../worker/workerWorld.ts";

/** 150 chunks of 2,000 paths of 132 fixings. */
const given = { kind: "asian-call", steps: 1_000, paths: 39_300, targetError: 0.15 } as const;
const params = parseParams(options, given) as Parameters<typeof options.plan>[0];
const perChunk = Math.ceil(2 ** 18 / 1_000);
const chunks = Math.ceil(given.paths / perChunk);

/** The same by a loop over the paths that knows no engine: where it stops, and the price. */
function directly(): { readonly paths: number; readonly price: number | null } {
  let moments: Moments = noMoments();
  const ends = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48].map((times) => times * 4).filter((end) => end < chunks);
  for (let chunk = 0; chunk < chunks; chunk += 1) {
    const size = { samples: Math.min(perChunk, given.paths - chunk * perChunk), antithetic: false };
    moments = mergeMoments(moments, simulate(pathKernel(), params, { seed: 1, chunk }, size));
    const { value, standardError } = estimates(params, moments, 1).price;
    if (standardError !== null && standardError <= given.targetError && ends.includes(chunk + 1))
      return { paths: moments.samples, price: value };
  }
  throw new Error("the target is never reached");
}

const calculations: Calculations = {
  list: () => [options],
  get: () => options,
  versionOf: () => "options@2",
  parseParams,
  describeParams,
};

test("options stop at the target error, where a plain loop stops, with any packs and the same bytes, and verify agrees", async () => {
  expect(await options.plan(params, {} as never)).toBe(chunks);
  const direct = directly();
  const serial = await runSerially(options, params);
  const text = Buffer.from(serial.body).toString();
  expect(JSON.parse(text)).toMatchObject({
    price: direct.price,
    paths: direct.paths,
    pathsAsked: given.paths,
  });
  expect(direct.paths).toBeLessThan(given.paths / 2);

  const storage = memoryStorage({ clock, random });
  const client: Client = { storage, names: namesOf("stops"), clock, random, calculations };
  await ensureContainersAndQueues(client);
  const app = startAppInProcess(
    client,
    {
      tree: { directPacksMax: 4, shardPacksMax: 4, fanIn: 2 },
      userCode: inlineCode(options),
      versionOf: calculations.versionOf,
      packLimitMs: 60_000,
    },
    { atOnce: 2, pollMs: 20, loop: { loopMs: 50, fastLoopMs: 20 } },
  );
  try {
    for (const packSize of [1, 3, 1_000]) {
      const id = `r${packSize}`;
      await submit(client, { calculation: "options", params: given, id, packSize });
      await expect.poll(async () => (await status(client, id)).phase).toBe("complete");
      const manifest = await findManifest(client, id);
      expect(manifest).toMatchObject({ chunks: serial.chunks, stopped: { of: chunks }, complete: true });
      const parts: Uint8Array[] = [];
      for await (const part of (await openResult(client, manifest)).body) parts.push(part);
      expect(Buffer.concat(parts).toString()).toBe(text);
    }
    const found = await verify(client, "r3", { sample: { percent: 100 } });
    expect(found).toMatchObject({ allEqual: true, stop: { after: serial.chunks, others: [] } });
  } finally {
    await app.stop();
  }
});
