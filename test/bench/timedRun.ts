import { setTimeout as sleep } from "node:timers/promises";
import { readManifest } from "../../src/client/runDocuments.ts";
import type { RunRequest } from "../../src/client/runRequest.ts";
import { submit } from "../../src/client/submit.ts";
import type { RealApp } from "../support/realApp.ts";

/** Submits a run and gives its id and the seconds until its manifest could be read. It may not be closed yet. */
export async function timedRun({ client }: RealApp, request: RunRequest) {
  const startedMs = performance.now();
  const submitted = await submit(client, request);
  // A poll takes CPU from the run: polls are as far apart as a two-hundredth of the time so far.
  while ((await readManifest(client, submitted, 1)) === undefined)
    await sleep(Math.max(20, (performance.now() - startedMs) / 200));
  return { run: submitted.run, seconds: (performance.now() - startedMs) / 1000 };
}
