import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { storageHostIn } from "../../../src/azure/dataStorage.ts";
import { LeasefoldError } from "../../../src/engine/model/errors.ts";
import { systemClock } from "../../../src/engine/storage/system.ts";
import { connectionLimits } from "../../../src/host/connectionGuard.ts";
import {
  type InstanceMessage,
  type InstanceRequest,
  instanceMessageSchema,
} from "../../../src/host/instanceMessages.ts";
import { withoutSecrets } from "./instanceEnv.ts";

interface InstanceExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const drainedMsMax = 500;

type Ready = Extract<InstanceMessage, { kind: "ready" }>;

export type InstanceProcess = ReturnType<typeof startInstanceProcess>;

/**
 * V8 lets the young generation of a process grow to 48 MB of garbage and starts four helper threads. An instance shares
 * the machine with others, and most of the time it polls.
 */
const smallProcess = ["--max-semi-space-size=4", "--v8-pool-size=2"];

/** Starts one child process. Signals go to this very process, and to none once it has ended. */
export function startInstanceProcess(options: {
  readonly entry: string;
  readonly appDir: string;
  /** Time that the instance itself waits for running invocations. */
  readonly drainMs: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly functionKey: string;
  readonly onMessage: (message: InstanceMessage) => void;
}) {
  const { entry, appDir, drainMs, functionKey, onMessage } = options;
  const { env, secrets } = withoutSecrets(options.env);
  // As an argument, since the settings of an instance must not widen where its token may go.
  const storageHost = storageHostIn(process.argv);
  const more = storageHost === undefined ? [] : [`--storage-host=${storageHost}`];
  const child = spawn(process.execPath, [...smallProcess, entry, appDir, String(drainMs), ...more], {
    cwd: appDir,
    env,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  request(child, { kind: "begin", functionKey, settings: secrets });
  let failure: string | undefined;

  const disconnected = new AbortController();
  child.once("disconnect", () => disconnected.abort());
  const exited = new Promise<InstanceExit>((resolve) => {
    // Its last messages may still be in the channel, which closes after them, unless a child of the process holds it open.
    child.once("exit", async (code, signal) => {
      await systemClock.sleep(drainedMsMax, disconnected.signal);
      resolve({ code, signal });
    });
    child.once("error", (error) => {
      failure = error.message;
      // Without a process there will be no exit. With one, the channel had an error and the exit is still to come.
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
  // Nobody has to await it.
  ready.catch(() => undefined);
  logLines(child.stdout, "information", onMessage);
  logLines(child.stderr, "warning", onMessage);

  let handing = 0;
  const alive = () => child.exitCode === null && child.signalCode === null && child.pid !== undefined;
  return {
    pid: child.pid ?? 0,
    /** Rejects with a reason when the process ends first. */
    ready,
    exited,
    kill: () => void (alive() && child.kill("SIGKILL")),
    request: (asked: InstanceRequest) => request(child, asked),
    /** Hands a connection over; false where the process takes none any more. */
    serve(socket: Socket): boolean {
      if (!child.connected) return false;
      // The channel hands over one at a time, and none to a process that is busy or frozen.
      if (handing >= connectionLimits.connectionsMax) {
        socket.destroy();
        return true;
      }
      handing += 1;
      child.send({ kind: "connection" } satisfies InstanceRequest, socket, {}, (error) => {
        handing -= 1;
        if (error) socket.destroy();
      });
      return true;
    },
    /** Asks it to stop, continues it if it is frozen, and kills it after `graceMs`. Resolves when it has ended. */
    async end(graceMs: number): Promise<void> {
      if (!alive()) return;
      child.kill("SIGCONT");
      request(child, { kind: "stop" });
      // The signal ends a process that does not listen yet; one that listens takes both as one request.
      child.kill("SIGTERM");
      const killer = setTimeout(() => alive() && child.kill("SIGKILL"), graceMs);
      await exited;
      clearTimeout(killer);
    },
  };
}

export const describeExit = ({ code, signal }: InstanceExit): string =>
  signal === null ? `exit code ${code}` : `signal ${signal}`;

function request(child: ChildProcess, asked: InstanceRequest): void {
  if (child.connected) child.send(asked, () => undefined);
}

/** Shows what the app prints as lines of its log. */
function logLines(
  stream: Readable | null,
  level: "information" | "warning",
  onMessage: (message: InstanceMessage) => void,
): void {
  if (!stream) return;
  createInterface({ input: stream }).on("line", (message) => onMessage({ kind: "log", level, message }));
}
