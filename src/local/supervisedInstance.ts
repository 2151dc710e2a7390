import { systemClock } from "../storage/system.ts";
import { functionTimeoutExitCode, type InstanceMessage } from "./instanceMessages.ts";
import {
  describeExit,
  type InstanceExit,
  type InstanceProcess,
  startInstanceProcess,
} from "./instanceProcess.ts";
import { type Down, makeRestarts } from "./restarts.ts";
import { makeTimeoutWatch, type TimeoutWatch } from "./timeoutWatch.ts";

/**
 * `stopped` is SIGSTOP: there, but frozen. `restarting` waits for its next start after it ended by itself. `dead`
 * has no process and gets none unless it is asked for.
 */
export type InstanceState = "starting" | "running" | "stopped" | "restarting" | "dead";

export type InstanceReport =
  | InstanceMessage
  | {
      readonly kind: "state";
      readonly state: InstanceState;
      readonly reason?: string;
      /** Only of `restarting`: the pause before its next start. */
      readonly pauseMs?: number;
    };

/** An instance that is started again when it ends by itself, as the real host restarts its worker. */
export interface SupervisedInstance {
  readonly name: string;
  readonly pid: number | undefined;
  readonly httpUrl: string | undefined;
  readonly state: InstanceState;
  /** Set from an end by itself until it runs again. */
  readonly down: Down | undefined;
  /** Resolves when it is ready; rejects with a reason when it could not start. */
  start(): Promise<void>;
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
  stop(graceMs: number): Promise<void>;
}

/** A process that needs longer to start is hung; the real host gives its worker as long. */
const startMsMax = 60_000;
/** What the supervisor's grace leaves for the end of the process itself. */
const exitMs = 1_000;

export function superviseInstance(options: {
  readonly name: string;
  readonly entry: string;
  readonly appDir: string;
  readonly httpPort: number;
  readonly stopGraceMs: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onReport: (report: InstanceReport) => void;
}): SupervisedInstance {
  const { name, onReport } = options;
  let state: InstanceState = "starting";
  let httpPort = options.httpPort;
  let httpUrl: string | undefined;
  let child: InstanceProcess | undefined;
  let watch: TimeoutWatch | undefined;
  let cancelRestart: () => void = () => undefined;
  const restarts = makeRestarts(systemClock);
  /** Somebody waits for this start, and is told where it fails. */
  let asked = false;
  /** Known when we ended it ourselves, though it was not asked for. */
  let endReason: string | undefined;

  const enter = (next: InstanceState, why: { readonly reason?: string; readonly pauseMs?: number } = {}) => {
    state = next;
    onReport({ kind: "state", state, ...why });
  };

  const hear = (from: InstanceProcess | undefined, message: InstanceMessage) => {
    if (message.kind === "ready") {
      // A restarted instance is found where it was before.
      httpPort = message.httpPort ?? httpPort;
      httpUrl = message.httpPort === null ? undefined : `http://127.0.0.1:${message.httpPort}`;
      watch = makeTimeoutWatch(message.functionTimeoutMs, systemClock, () => {
        endReason = "an invocation blocked it longer than functionTimeout";
        from?.signal("SIGKILL");
      });
    }
    if (message.kind === "failed") endReason = message.message;
    if (message.kind === "started") watch?.started(message.invocation, message.function);
    if (message.kind === "ended") watch?.ended(message.invocation);
    onReport(message);
  };

  const start = async (isAsked: boolean) => {
    cancelRestart();
    asked = isAsked;
    endReason = undefined;
    enter("starting");
    const mine: InstanceProcess = startInstanceProcess({
      ...options,
      // Where it was before, if nobody asked for a port and that one is still free.
      httpPort: { number: httpPort, wish: options.httpPort === 0 },
      drainMs: Math.max(0, options.stopGraceMs - exitMs),
      onMessage: (message) => hear(mine, message),
    });
    child = mine;
    void mine.exited.then((exit) => {
      if (child === mine) endedByItself(exit);
    });
    const hung = setTimeout(() => mine.signal("SIGKILL"), startMsMax);
    try {
      await mine.ready;
      if (child !== mine) return;
      restarts.runs();
      enter("running");
    } finally {
      clearTimeout(hung);
    }
  };

  /** Takes the process away from supervision: what happens to it now is intended. */
  const letGo = (): InstanceProcess | undefined => {
    const mine = child;
    child = undefined;
    watch?.clear();
    cancelRestart();
    return mine;
  };

  const endedByItself = (exit: InstanceExit) => {
    const began = state;
    letGo();
    const reason = endReason ?? reasonOf(exit);
    // One that never came up says so to whoever started it.
    if (began === "starting" && asked) return enter("dead", { reason });
    const pauseMs = restarts.ended(reason);
    enter("restarting", { reason, pauseMs });
    // Not a timer of the clock: with its last instance gone, this wait is all that keeps the supervisor alive.
    const timer = setTimeout(() => void start(false).catch(() => undefined), pauseMs);
    cancelRestart = () => clearTimeout(timer);
  };

  const finish = async (how: (mine: InstanceProcess) => Promise<unknown>, reason: string) => {
    const mine = letGo();
    if (mine) await how(mine);
    if (state !== "dead") enter("dead", { reason });
  };

  return {
    name,
    get pid() {
      return child?.pid;
    },
    get httpUrl() {
      return httpUrl;
    },
    get state() {
      return state;
    },
    get down() {
      return restarts.down;
    },
    start: () => start(true),
    kill: () =>
      finish((mine) => {
        mine.signal("SIGKILL");
        return mine.exited;
      }, "killed"),
    pause() {
      if (state !== "running") return;
      watch?.pause();
      child?.signal("SIGSTOP");
      enter("stopped");
    },
    resume() {
      if (state !== "stopped") return;
      child?.signal("SIGCONT");
      watch?.resume();
      enter("running");
    },
    stop: (graceMs) => finish((mine) => mine.end(graceMs), "stopped"),
  };
}

const reasonOf = (exit: InstanceExit) =>
  exit.code === functionTimeoutExitCode
    ? "an invocation ran longer than functionTimeout"
    : describeExit(exit);
