import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { LeasefoldError } from "../model/errors.ts";
import type { HttpPort } from "./host/httpTrigger.ts";
import { type InstanceMessage, instanceMessageSchema, type StopRequest } from "./instanceMessages.ts";

export interface InstanceExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const lastWordsMs = 500;

type Ready = Extract<InstanceMessage, { kind: "ready" }>;

/** One child process. Signals go to the process this handle started, and to none once it has ended. */
export interface InstanceProcess {
  readonly pid: number;
  /** Rejects with a reason when the process ends first. */
  readonly ready: Promise<Ready>;
  readonly exited: Promise<InstanceExit>;
  signal(signal: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void;
  /** Asks it to stop, continues it if it is stopped, and kills it after `graceMs`. Resolves when it has ended. */
  end(graceMs: number): Promise<void>;
}

export function startInstanceProcess(options: {
  readonly entry: string;
  readonly appDir: string;
  readonly httpPort: HttpPort;
  /** How long the instance itself waits for what runs. */
  readonly drainMs: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onMessage: (message: InstanceMessage) => void;
}): InstanceProcess {
  const { entry, appDir, httpPort, drainMs, env, onMessage } = options;
  const port = [String(httpPort.number), httpPort.wish ? "wish" : "must"];
  const child = spawn(process.execPath, [entry, appDir, ...port, String(drainMs)], {
    cwd: appDir,
    env,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let failure: string | undefined;

  const disconnected = new Promise<void>((resolve) => child.once("disconnect", () => resolve()));
  const exited = new Promise<InstanceExit>((resolve) => {
    // Its last words may still be in the channel: the channel closes after them.
    child.once("exit", (code, signal) => void lastWords(disconnected).then(() => resolve({ code, signal })));
    child.once("error", (error) => {
      failure = error.message;
      // Without a process there will be no exit; with one, the channel had an error and the exit is still to come.
      if (child.pid === undefined) resolve({ code: null, signal: null });
    });
  });
  const ready = new Promise<Ready>((resolve, reject) => {
    child.on("message", (raw) => {
      const decoded = instanceMessageSchema.safeParse(raw);
      if (!decoded.success) return;
      if (decoded.data.kind === "failed") failure = decoded.data.message;
      if (decoded.data.kind === "ready") resolve(decoded.data);
      onMessage(decoded.data);
    });
    void exited.then((exit) =>
      reject(new LeasefoldError("instance-not-started", failure ?? `it ended: ${describeExit(exit)}`)),
    );
  });
  // Whoever is interested awaits it; nobody has to.
  ready.catch(() => undefined);
  logLines(child.stdout, "information", onMessage);
  logLines(child.stderr, "warning", onMessage);

  const alive = () => child.exitCode === null && child.signalCode === null && child.pid !== undefined;
  return {
    pid: child.pid ?? 0,
    ready,
    exited,
    signal: (signal) => void (alive() && child.kill(signal)),
    async end(graceMs) {
      if (!alive()) return;
      child.kill("SIGCONT");
      requestStop(child);
      const killer = setTimeout(() => alive() && child.kill("SIGKILL"), graceMs);
      await exited;
      clearTimeout(killer);
    },
  };
}

export function describeExit({ code, signal }: InstanceExit): string {
  return signal === null ? `exit code ${code}` : `signal ${signal}`;
}

/** Something that the process started may hold the channel open, so there is an end to the waiting. */
function lastWords(disconnected: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, lastWordsMs);
    void disconnected.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function requestStop(child: ChildProcess): void {
  const request: StopRequest = { kind: "stop" };
  // A process that has not got as far as listening is ended by the signal; one that has takes both as one.
  if (child.connected) child.send(request, () => undefined);
  child.kill("SIGTERM");
}

/** What the app prints by itself is shown as lines of its log. */
function logLines(
  stream: Readable | null,
  level: "information" | "warning",
  onMessage: (message: InstanceMessage) => void,
): void {
  if (!stream) return;
  createInterface({ input: stream }).on("line", (message) => onMessage({ kind: "log", level, message }));
}
