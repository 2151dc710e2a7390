import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomFillSync } from "node:crypto";
import { once } from "node:events";
import { createReadStream, mkdtempSync, readFileSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import { loadCalculations } from "../../src/calculations/registry.ts";
import type { Client } from "../../src/engine/client/client.ts";
import { ensureContainersAndQueues } from "../../src/engine/client/containersAndQueues.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { namesOf } from "../../src/engine/model/names.ts";
import { resultBlobs, runBlobs } from "../../src/engine/model/runBlobs.ts";
import { firstState } from "../../src/engine/model/state.ts";
import { systemClock as clock, systemRandom as random } from "../../src/engine/storage/system.ts";
import { startAzurite } from "../../src/tools/local/azurite.ts";
import { counted, manifestOf } from "../client/clientWorld.ts";
import type { Bench } from "./bench.ts";
import { quantile } from "./quantile.ts";

const turns = 3;
const memoryMbMax = 300;

/** A result of this size, the command that saves it, and what the SDK does over one connection without a hash. */
export const downloadBench: Bench = {
  name: "download",
  question: "how fast, and in how much memory, does `leasefold result -o` save a large result?",
  async run({ quick, say }) {
    const bytes = (quick ? 256 : 4_096) * 2 ** 20;
    const folder = mkdtempSync(join(tmpdir(), "leasefold-download-"));
    const azurite = await startAzurite({ location: join(folder, "azurite") });
    const env = { ...process.env, DataStorage: azurite.connectionString };
    try {
      const { container, blob, sha256 } = await storeResult(azurite.connectionString, bytes);
      const plain = () => ["test/bench/plainDownload.ts", container, blob, join(folder, "plain")];
      const saving = ["bin/leasefold.js", "result", "large", "-o", join(folder, "saved")];
      const taken: Record<"plain" | "saved", Ended[]> = { plain: [], saved: [] };
      for (let turn = 0; turn < turns; turn += 1) {
        taken.plain.push(await ended(start(plain(), env)));
        taken.saved.push(await ended(start(saving, env)));
        say(`${turn + 1}: ${taken.plain.at(-1)?.seconds} s, ${taken.saved.at(-1)?.seconds} s`);
        for (const file of ["plain", "saved"]) {
          if ((await hashOf(join(folder, file))) !== sha256) throw new Error(`${file} has another hash`);
          await rm(join(folder, file));
        }
      }
      const resumed = await killAndContinue(folder, bytes, () => start(saving, env));
      const median = (of: readonly Ended[]) =>
        quantile(
          of.map(({ seconds }) => seconds),
          0.5,
        );
      const most = (of: readonly Ended[]) => Math.max(...of.map(({ mb }) => mb));
      const figures = {
        mb: bytes / 2 ** 20,
        plainS: median(taken.plain),
        savedS: median(taken.saved),
        ratio: median(taken.saved) / median(taken.plain),
        plainMb: most(taken.plain),
        savedMb: most(taken.saved),
        keptShare: resumed.kept / bytes,
        resumedS: resumed.seconds,
      };
      return {
        rows: [figures],
        figures,
        goals: [
          { goal: "as fast as one plain stream without a hash, within a tenth", met: figures.ratio <= 1.1 },
          { goal: `at most ${memoryMbMax} MB resident`, met: figures.savedMb <= memoryMbMax },
          { goal: "a killed command is continued and not begun again", met: resumed.kept > 0 },
        ],
      };
    } finally {
      await azurite.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

interface Ended {
  readonly seconds: number;
  /** The most that was resident, start included. */
  readonly mb: number;
}

const start = (args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess =>
  spawn(process.execPath, args, { env, stdio: ["ignore", "ignore", "inherit"] });

async function ended(child: ChildProcess): Promise<Ended> {
  const begunMs = performance.now();
  let mb = 0;
  const timer = setInterval(() => {
    mb = Math.max(mb, residentMost(child.pid ?? 0));
  }, 20);
  const [code] = await once(child, "exit");
  clearInterval(timer);
  if (code !== 0) throw new Error(`it ended with ${code}`);
  return { seconds: Math.round(performance.now() - begunMs) / 1_000, mb };
}

/** `VmHWM` in MB (`man 5 proc_pid_status`); 0 of a process that has ended. */
function residentMost(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_024;
  } catch {
    return 0;
  }
}

/** Kills the command once half of the file is there. */
async function killAndContinue(folder: string, bytes: number, begin: () => ChildProcess) {
  const first = begin();
  const exited = once(first, "exit");
  const partial = async () => (await readdir(folder)).find((name) => name.endsWith(".part"));
  const sizeOf = async (name: string | undefined) =>
    name === undefined ? 0 : (await stat(join(folder, name))).size;
  while ((await sizeOf(await partial())) < bytes / 2) await sleep(5);
  first.kill("SIGKILL");
  await exited;
  const kept = await sizeOf(await partial());
  const { seconds } = await ended(begin());
  if ((await stat(join(folder, "saved"))).size !== bytes) throw new Error("the file has another size");
  return { kept, seconds };
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(file)) hash.update(piece);
  return hash.digest("hex");
}

/** A finished run with a result of random bytes, as a finishing worker leaves it. */
async function storeResult(connectionString: string, bytes: number) {
  const storage = connectStorage({ connectionString });
  const names = namesOf("leasefold");
  const client: Client = { storage, names, clock, random, calculations: await loadCalculations([]) };
  await ensureContainersAndQueues(client);
  const { run, uid } = await submit(client, { calculation: "primes", params: { to: 1e6 }, id: "large" });
  const hash = createHash("sha256");
  async function* body() {
    const pieceBytes = 4 * 2 ** 20;
    for (let at = 0; at < bytes; at += pieceBytes) {
      const piece = randomFillSync(Buffer.allocUnsafeSlow(pieceBytes));
      hash.update(piece);
      yield piece;
    }
  }
  const blob = resultBlobs(run, uid).result(1, "1-1-abcdefgh", "json");
  await storage.blobs.upload(names.results, blob, body());
  const manifest = manifestOf({ run, uid }, { bytes, sha256: hash.digest("hex") });
  await storage.blobs.create(names.results, resultBlobs(run, uid).manifest(1), JSON.stringify(manifest));
  const state = {
    ...firstState({ run, uid, generation: 1, cap: 2000, nowMs: 0 }),
    ...counted,
    phase: "complete",
  };
  await storage.blobs.create(names.runs, runBlobs(run, uid).state, JSON.stringify(state));
  return { container: names.results, blob, sha256: manifest.sha256 };
}
