import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import { loadCalculations } from "../../src/calculations/registry.ts";
import type { Client } from "../../src/engine/client/client.ts";
import { findManifest } from "../../src/engine/client/result.ts";
import type { RunRequest } from "../../src/engine/client/runRequest.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { NotReadyError } from "../../src/engine/model/errors.ts";
import { namesOf } from "../../src/engine/model/names.ts";
import { systemClock as clock, systemRandom as random } from "../../src/engine/storage/system.ts";
import { startAzurite } from "../../src/tools/local/azurite.ts";
import { findAppDir } from "../../src/tools/local/embedded.ts";
import { embeddedEnv } from "../../src/tools/local/instanceEnv.ts";
import { startInstances } from "../../src/tools/local/instances.ts";
import type { Bench } from "./bench.ts";
import { quantile } from "./quantile.ts";
import { drawTrace } from "./trace/draw.ts";
import { type RecordedCall, type Recorder, startRecorder } from "./trace/recorder.ts";
import { type Milestone, storyOf } from "./trace/story.ts";

const instanceCount = 2;
const picture = join(import.meta.dirname, "../../docs/images/trace.svg");

/** One run as the recorders saw it. */
interface Trace {
  readonly story: readonly Milestone[];
  readonly calls: readonly RecordedCall[];
  readonly startMs: number;
}

/** Ten trivial chunks, again and again, with a recorder before the emulator for each process. `--full` draws the middle run. */
export const traceBench: Bench = {
  name: "trace",
  question: "where does the time of a small run go? Ten trivial chunks on two embedded instances at rest",
  async run({ full, quick }) {
    const calls: RecordedCall[] = [];
    const azurite = await startAzurite();
    const recorders: Recorder[] = [];
    for (const actor of ["client", "node-1", "node-2"])
      recorders.push(await startRecorder(actor, azurite, calls));
    const connectionOf = (index: number): string => recorders[index]?.connectionString ?? "";
    const instances = await startInstances({
      ...{ count: instanceCount, appDir: findAppDir(), storage: {} },
      env: (_name, index) => ({
        ...embeddedEnv({ instances: instanceCount, calculations: [], index, cores: instanceCount }),
        DataStorage: connectionOf(index + 1),
      }),
    });
    azurite.onMessage(instances.pollNow);
    try {
      const storage = connectStorage({ connectionString: connectionOf(0) });
      const client = {
        storage,
        names: namesOf("leasefold"),
        clock,
        random,
        calculations: await loadCalculations([]),
      };
      const traced = async (request: RunRequest): Promise<Trace[]> => {
        const traces: Trace[] = [];
        for (let run = 0; run < (quick ? 4 : 16); run += 1) {
          // At any moment between two ticks, when nobody leads any more.
          await sleep(2_000 + ((run * 137) % 900));
          calls.length = 0;
          const startMs = await runOnce(client, request);
          // The first run starts the threads.
          const story = run === 0 ? undefined : storyOf(calls, startMs);
          if (story !== undefined) traces.push({ startMs, calls: [...calls], story });
        }
        if (traces.length === 0) throw new Error("no run has begun while nobody led");
        return traces;
      };
      const ten = await summary(await traced({ calculation: "primes", params: { to: 6e8 } }), full);
      const one = await traced({ calculation: "primes", params: { to: 1e6 } });
      const oneMs = quantile(one.map(totalMs), 0.5);
      const goal = "one chunk of 1 ms in at most 0.3 s, median";
      return {
        rows: [
          ...ten.rows,
          {
            step: "one chunk of 1 ms, all steps",
            mostly: "",
            p50Ms: Math.round(oneMs),
            p90Ms: Math.round(quantile(one.map(totalMs), 0.9)),
          },
        ],
        figures: { ...ten.figures, oneChunkP50Ms: oneMs },
        goals: [...ten.goals, { goal, met: oneMs <= 300 }],
      };
    } finally {
      await instances.stopAll();
      for (const recorder of recorders) await recorder.close();
      await azurite.stop();
    }
  },
};

/** Gives the moment of the call of `submit`; returns when the manifest is there and the run is closed. */
async function runOnce(client: Client, request: RunRequest): Promise<number> {
  const startMs = performance.now();
  const { run } = await submit(client, request);
  for (;;) {
    await sleep(20);
    const manifest = await findManifest(client, run).catch((error: unknown) => {
      if (!(error instanceof NotReadyError)) throw error;
      return undefined;
    });
    if (manifest !== undefined) break;
  }
  await sleep(300);
  return startMs;
}

const totalMs = ({ story }: Trace): number => story.at(-1)?.atMs ?? 0;

async function summary(traces: readonly Trace[], draw: boolean) {
  const names = traces[0]?.story.map(({ name }) => name) ?? [];
  const tookMs = ({ story }: Trace, step: number): number =>
    (story[step]?.atMs ?? 0) - (story[step - 1]?.atMs ?? 0);
  const rows = names.map((name, step) => {
    const all = traces.map((trace) => tookMs(trace, step));
    const [p50Ms, p90Ms] = [quantile(all, 0.5), quantile(all, 0.9)].map(Math.round) as [number, number];
    return { step: name, mostly: traces[0]?.story[step]?.mostly ?? "", p50Ms, p90Ms };
  });
  const totals = traces.map(totalMs);
  const pollMs = traces.map((trace) =>
    trace.story.reduce((sum, { mostly }, step) => sum + (mostly === "poll" ? tookMs(trace, step) : 0), 0),
  );
  const middle = [...traces].sort((a, b) => totalMs(a) - totalMs(b))[traces.length >> 1];
  if (draw && middle !== undefined) {
    await mkdir(join(picture, ".."), { recursive: true });
    await writeFile(picture, drawTrace(middle.calls, middle.story, middle.startMs));
  }
  const figures = {
    p50Ms: quantile(totals, 0.5),
    p90Ms: quantile(totals, 0.9),
    pollMs: quantile(pollMs, 0.5),
  };
  const goal = "ten trivial chunks in at most 0.35 s, median (the recorders add some milliseconds)";
  return { rows, figures, goals: [{ goal, met: figures.p50Ms <= 350 }] };
}
