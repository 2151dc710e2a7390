import { setTimeout as sleep } from "node:timers/promises";
import { readManifest } from "../../src/engine/client/runDocuments.ts";
import type { RunRequest } from "../../src/engine/client/runRequest.ts";
import { submit } from "../../src/engine/client/submit.ts";
import type { RealApp } from "../support/realApp.ts";

const runMsMax = 3_600_000;

/**
 * Submits a run and gives its id and the seconds until its manifest could be read. It may not be closed yet. Throws after
 * an hour: a run that fails has none.
 */
export async function runUntilManifest({ client }: RealApp, request: RunRequest) {
  const startedMs = performance.now();
  const elapsedMs = () => performance.now() - startedMs;
  const submitted = await submit(client, request);
  // A poll takes CPU from the run: polls are as far apart as a two-hundredth of the time so far.
  while ((await readManifest(client, submitted, 1)) === undefined) {
    if (elapsedMs() > runMsMax) throw new Error(`no result of ${submitted.run} after ${runMsMax / 1000} s`);
    await sleep(Math.max(20, elapsedMs() / 200));
  }
  return { run: submitted.run, seconds: elapsedMs() / 1000 };
}
