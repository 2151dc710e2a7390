import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { ContenderOptions } from "./contenderMain.ts";
import { patienceMs } from "./patience.ts";

/** What a contender tells; times are this process's. */
export interface Told {
  readonly atMs: number;
  readonly kind: string;
  readonly term?: number;
  readonly cause?: string;
  readonly outcome?: string;
  readonly [more: string]: unknown;
}

export interface ContenderProcess {
  readonly holder: string;
  readonly told: readonly Told[];
  /** The first line told that fits, now or within `limitMs`. */
  until(fits: (line: Told) => boolean): Promise<Told>;
  signal(signal: "SIGKILL" | "SIGSTOP" | "SIGCONT" | "SIGTERM"): void;
  blockFor(ms: number): void;
  /** Ends it, whatever state it is in. */
  end(): Promise<void>;
}

const main = new URL("./contenderMain.ts", import.meta.url);

export function startContender(options: ContenderOptions): ContenderProcess {
  const child: ChildProcess = spawn(process.execPath, [main.pathname, JSON.stringify(options)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const told: Told[] = [];
  const watchers = new Set<() => void>();
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
    told.push({ atMs: performance.now(), ...(JSON.parse(line) as Omit<Told, "atMs">) } as Told);
    for (const look of watchers) look();
  });
  return {
    holder: options.holder,
    told,
    until: (fits) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const line = told.find(fits);
          if (line === undefined) return;
          done();
          resolve(line);
        };
        const timer = setTimeout(() => {
          done();
          const last = told.slice(-5).map((line) => JSON.stringify(line));
          reject(new Error(`${options.holder} did not say so in ${patienceMs} ms; last: ${last.join(" ")}`));
        }, patienceMs);
        const done = (): void => {
          clearTimeout(timer);
          watchers.delete(look);
        };
        watchers.add(look);
        look();
      }),
    signal: (signal) => void child.kill(signal),
    blockFor: (ms) => void child.stdin?.write(`block ${ms}\n`),
    async end() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
