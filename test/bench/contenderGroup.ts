import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { build } from "esbuild";
import type { Azurite } from "../../packages/cli/local/azurite.ts";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import { loadCalculations } from "../../src/calculations/registry.ts";
import { currentLeader } from "../../src/election/record/leaderView.ts";
import type { Client } from "../../src/engine/client/client.ts";
import { ensureContainersAndQueues } from "../../src/engine/client/containersAndQueues.ts";
import { submit } from "../../src/engine/client/submit.ts";
import type { CallCounts } from "../../src/engine/model/calls.ts";
import { leaderBlob, namesOf } from "../../src/engine/model/names.ts";
import { systemClock as clock, systemRandom as random } from "../../src/engine/storage/system.ts";

/** Three contenders for one lease in a namespace of their own, with a run that stays active: nobody works on it. */
export interface ContenderGroup {
  /** Waits for a term above `term` and for the record that says so; gives who leads it. */
  nextTerm(term: number): Promise<Reign>;
  /** Ends the process and gives when; a new one has taken its place when `replaced` resolves. */
  end(
    index: number,
    signal: "SIGKILL" | "SIGTERM",
  ): { readonly atMs: number; readonly replaced: Promise<void> };
  /** When the process `index` said last that it lets its lease go. */
  letGoMs(index: number): number;
  calls(index: number): Promise<CallCounts>;
  /** Terms that began, and what else told of the end of one, so far: takeovers, and terms lost by their leader's own word. */
  changes(): readonly string[];
  stop(): void;
}

interface Reign {
  readonly term: number;
  readonly index: number;
  /** When the contender said so, by the clock that all processes of a machine share. */
  readonly saidMs: number;
  /** When the record was seen to say so. */
  readonly seenMs: number;
}

export const size = 3;
export const nowMs = (): number => performance.timeOrigin + performance.now();

/** As one file, so that a process starts quickly and no edit of the sources reaches a bench under way. */
export async function buildContender(folder: string): Promise<string> {
  const outfile = join(folder, "contender.cjs");
  const entry = join(import.meta.dirname, "contender.ts");
  await build({ entryPoints: [entry], bundle: true, platform: "node", format: "cjs", minify: true, outfile });
  return outfile;
}

interface Slot {
  child: ChildProcess;
  letGoMs: number;
  counts: ((counts: CallCounts) => void) | undefined;
}

export async function contenderGroup(
  /** A built `contender.ts`, and the emulator. */
  on: { readonly program: string; readonly azurite: Azurite },
  namespace: string,
  env: Readonly<Record<string, string>>,
): Promise<ContenderGroup> {
  const { program, azurite } = on;
  const { connectionString } = azurite;
  const storage = connectStorage({ connectionString });
  const names = namesOf(namespace);
  const client: Client = { storage, names, clock, random, calculations: await loadCalculations([]) };
  await ensureContainersAndQueues(client);
  await submit(client, { calculation: "primes", params: { to: 1e9 } });
  const lease = storage.lease(names.coordination, leaderBlob);
  let newest: Omit<Reign, "seenMs"> = { term: 0, index: -1, saidMs: 0 };
  let onTerm = (): void => {};
  const changes: string[] = [];

  const start = async (index: number): Promise<ChildProcess> => {
    const child = spawn(process.execPath, [program], {
      env: {
        ...process.env,
        ...env,
        DataStorage: connectionString,
        BENCH_HOST_JSON: join(import.meta.dirname, "../../host.json"),
        LEASEFOLD_NAMESPACE: namespace,
        LEASEFOLD_INSTANCE: `contender-${index}`,
      },
      stdio: ["pipe", "pipe", "inherit"],
    });
    // It may be killed with a line in its pipe.
    child.stdin.on("error", () => {});
    const ready = new Promise<void>((resolve) => {
      createInterface({ input: child.stdout }).on("line", (line) => {
        const told = JSON.parse(line);
        const slot = slots[index];
        if (told.kind === "ready") resolve();
        if (told.kind === "threw") console.error(`contender-${index}: ${told.message}`);
        if (told.kind === "lets-go" && slot !== undefined) slot.letGoMs = told.atMs;
        if (told.kind === "calls") slot?.counts?.(told.counts);
        if (["claimed", "tookOver", "lost", "deposed"].includes(told.kind))
          changes.push(`term ${told.term} ${told.kind}`);
        if (told.kind !== "claimed" || told.term <= newest.term) return;
        newest = { term: told.term, index, saidMs: told.atMs };
        onTerm();
      });
    });
    await ready;
    return child;
  };
  const slots: Slot[] = [];
  for (let index = 0; index < size; index += 1) {
    slots.push({ child: await start(index), letGoMs: 0, counts: undefined });
  }
  const slotOf = (index: number): Slot => {
    const slot = slots[index];
    if (slot === undefined) throw new Error(`there is no contender ${index}`);
    return slot;
  };

  return {
    async nextTerm(term) {
      while (newest.term <= term) {
        await new Promise<void>((resolve) => {
          onTerm = resolve;
        });
      }
      const reign = newest;
      const seen = await currentLeader(lease);
      if (seen.kind !== "known" || seen.record.term !== reign.term) {
        throw new Error(
          `contender ${reign.index} says it leads term ${reign.term}, the record says otherwise`,
        );
      }
      return { ...reign, seenMs: nowMs() };
    },
    end(index, signal) {
      const { child } = slotOf(index);
      const gone = once(child, "exit");
      const atMs = nowMs();
      child.kill(signal);
      const replaced = gone.then(async () => {
        slotOf(index).child = await start(index);
      });
      return { atMs, replaced };
    },
    letGoMs: (index) => slotOf(index).letGoMs,
    calls(index) {
      const slot = slotOf(index);
      return new Promise((resolve) => {
        slot.counts = resolve;
        slot.child.stdin?.write("calls\n");
      });
    },
    changes: () => changes,
    stop() {
      for (const { child } of slots) child.kill("SIGKILL");
    },
  };
}
