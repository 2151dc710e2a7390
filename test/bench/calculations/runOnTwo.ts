import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { filesOver } from "../../../src/engine/calculation/files.ts";
import { findManifest } from "../../../src/engine/client/result.ts";
import { blobFiles } from "../../../src/engine/worker/blobFiles.ts";
import { type RealApp, startRealApp } from "../../support/realApp.ts";
import { cpuSecondsOf } from "../cpu.ts";
import { runUntilManifest } from "../runUntilManifest.ts";
import type { Upload, WholeRun } from "./measure.ts";
import { serialRun } from "./serialRun.ts";

export type TwoRuns = {
  /** The whole in one thread of this process, without messages: before and after the run, and the mean of both. */
  readonly oneBeforeS: number;
  readonly oneAfterS: number;
  readonly oneS: number;
  /** From submit to the end of a run on two instances of one thread each. */
  readonly twoS: number;
  readonly speedUp: number;
  /** CPU time of the one thread's process, of both instances, and of the emulator beside the latter. */
  readonly oneCpuS: number;
  readonly twoCpuS: number;
  /** Of both instances, which are warm, over that of the one thread, which reads the same files from the same storage. */
  readonly cpuRatio: number;
  /** The same of the first run on instances that have just started; NaN where `warmUp` is another run. */
  readonly coldCpuRatio: number;
  readonly azuriteCpuS: number;
  /** Most memory that one of the instances has had in use since it started; NaN where the system does not tell. */
  readonly peakBytes: number;
  /** The same before the run. */
  readonly idleBytes: number;
};

/** Two instances of one thread each. */
export const startTwo = (): Promise<RealApp> =>
  startRealApp({ instances: 2, env: { LEASEFOLD_THREADS: "1", LEASEFOLD_SOURCES: "bench" } });

/** The instances compute `warmUp` before. Throws unless the run has the very bytes of one thread. */
export async function runOnTwo(
  app: RealApp,
  calculation: string,
  { params, fill }: WholeRun,
  warmUp: WholeRun["params"],
): Promise<TwoRuns> {
  const { blobs } = app.client.storage;
  const upload: Upload = async (path, body) => {
    const [container = "", ...name] = path.split("/");
    await blobs.ensureContainer(container);
    const pieces = body instanceof Uint8Array ? once(body) : body;
    await blobs.upload(container, name.join("/"), pieces, { contentType: "application/octet-stream" });
  };
  await fill?.(upload);
  const one = app.client.calculations.get(calculation);
  const alone = async () => {
    const before = cpuSecondsOf(process.pid);
    const { seconds, result } = await serialRun(one, params, filesOver(blobFiles(blobs)));
    return { seconds, cpuS: cpuSecondsOf(process.pid) - before, body: result.body };
  };
  const oneBefore = await alone();

  const pids = app.instances.instances.map(({ pid = 0 }) => pid);
  const cpuNow = () => [app.azuritePid, ...pids].map(cpuSecondsOf);
  const peak = () => Math.max(...pids.map(peakBytesOf));
  const idleBytes = peak();
  const onBoth = async (given: WholeRun["params"]) => {
    const before = cpuNow();
    const { run, seconds } = await runUntilManifest(app, { calculation, params: given });
    // What follows the manifest counts for the CPU.
    await app.until(run, (view) => !view.active);
    const [azuriteS = 0, ...spentS] = cpuNow().map((now, place) => now - (before[place] ?? 0));
    return { run, seconds, azuriteS, cpuS: spentS.reduce((sum, one) => sum + one, 0) };
  };
  const first = await onBoth(warmUp);
  const { run, seconds: twoS, azuriteS: azuriteCpuS, cpuS: twoCpuS } = await onBoth(params);
  const { sha256 } = await findManifest(app.client, run);
  if (sha256 !== createHash("sha256").update(oneBefore.body).digest("hex")) {
    throw new Error(`${calculation} on two instances has another result than in one thread`);
  }
  const peakBytes = peak();
  // The speed of a shared machine changes while it is measured.
  const oneAfter = await alone();
  const [oneBeforeS, oneAfterS] = [oneBefore.seconds, oneAfter.seconds];
  const oneS = (oneBeforeS + oneAfterS) / 2;
  const oneCpuS = (oneBefore.cpuS + oneAfter.cpuS) / 2;
  const coldCpuRatio = warmUp === params ? first.cpuS / oneCpuS : Number.NaN;
  return {
    ...{ oneBeforeS, oneAfterS, oneS, twoS, speedUp: oneS / twoS },
    ...{ oneCpuS, twoCpuS, cpuRatio: twoCpuS / oneCpuS, coldCpuRatio },
    ...{ azuriteCpuS, peakBytes, idleBytes },
  };
}

async function* once(body: Uint8Array): AsyncGenerator<Uint8Array> {
  yield body;
}

/** Largest resident set of a process so far (`man 5 proc_pid_status`: VmHWM). */
function peakBytesOf(pid: number): number {
  try {
    const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return Number(kilobytes) * 1024;
  } catch {
    return Number.NaN;
  }
}
