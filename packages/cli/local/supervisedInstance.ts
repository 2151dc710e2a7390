import type { Socket } from "node:net";
import { systemClock } from "../../../src/engine/storage/system.ts";
import type { HeldMessage, InstanceMessage } from "../../../src/host/instanceMessages.ts";
import { bindPort, type InstancePort } from "./instancePort.ts";
import { describeExit, type InstanceProcess, startInstanceProcess } from "./instanceProcess.ts";
import { type Down, makeHeldMessages, makeRestarts, makeTimeoutWatch } from "./supervision.ts";

/**
 * `restarting` waits for its next start after it ended by itself. `dead` has no process and gets one only on request.
 */
type InstanceState = "starting" | "running" | "restarting" | "dead";

export type InstanceReport =
  | InstanceMessage
  | {
      readonly kind: "state";
      readonly state: InstanceState;
      readonly reason?: string;
      /** Only of `restarting`: the pause before its next start. */
      readonly pauseMs?: number;
    }
  /** Its process has ended, as planned or not; `failed` are the messages that then come back, after so long. */
  | {
      readonly kind: "exited";
      readonly how: string;
      readonly failed: readonly HeldMessage[];
      readonly visibleInS: number;
    };

interface SupervisedOptions {
  readonly name: string;
  readonly entry: string;
  readonly appDir: string;
  /** 0 is any free one; null for none. */
  readonly httpPort: number | null;
  readonly functionKey: string;
  readonly stopGraceMs: number;
  /** Time that the code of a calculation's file may block it while the file is loaded. */
  readonly loadMsMax?: number | undefined;
  /** Asked at each start. */
  readonly env: () => Readonly<Record<string, string | undefined>>;
  readonly onReport: (report: InstanceReport) => void;
}

/** A process that needs longer to start is hung; the real host gives its worker as long. */
const startMsMax = 60_000;
/** What the supervisor's grace leaves for the end of the process itself. */
const exitMs = 1_000;

/** An instance that is started again when it ends by itself, as the real host restarts its worker. */
export class SupervisedInstance {
  readonly #options: SupervisedOptions;
  readonly #restarts = makeRestarts(systemClock);
  readonly #held = makeHeldMessages(systemClock);
  #visibleInS = 0;
  /** The invocation for which its process was ended. */
  #timedOut: string | undefined;
  /** `node-1`, `node-2`, …; also the instance's `LEASEFOLD_INSTANCE`. */
  readonly name: string;
  state: InstanceState = "starting";
  /** Undefined before it was ready for the first time, and in an app without HTTP functions. */
  httpUrl: string | undefined;
  #port: InstancePort | undefined;
  #process: InstanceProcess | undefined;
  #timeouts: ReturnType<typeof makeTimeoutWatch> | undefined;
  #cancelRestart: () => void = () => undefined;
  /** A caller waits for this start and gets its failure. */
  #awaited = false;
  #cancelLoad: () => void = () => undefined;
  /** Known when the supervisor ended it, or when it said why. */
  #endReason: string | undefined;
  #blocked = false;

  constructor(options: SupervisedOptions) {
    this.#options = options;
    this.name = options.name;
  }

  /** Undefined while it has no process. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }
  /** Set from an end by itself until it runs again. */
  get down(): Down | undefined {
    return this.#restarts.down;
  }

  /** Resolves when it is ready; rejects with a reason when it could not start. */
  async start(): Promise<void> {
    const serve = (socket: Socket) => this.state === "running" && this.#process?.serve(socket) === true;
    const { httpPort } = this.#options;
    if (httpPort !== null) this.#port ??= await bindPort(httpPort, serve);
    await this.#start(true);
  }

  /** Frees its port, for good. */
  closePort(): void {
    this.#port?.close();
  }

  /** SIGKILL. It stays dead until `restart`. */
  kill(): Promise<void> {
    return this.#end("killed", (ending) => {
      ending.kill();
      return ending.exited;
    });
  }

  stop(): Promise<void> {
    return this.#end("stopped", (ending) => ending.end(this.#options.stopGraceMs));
  }

  /** Stops it if it still runs, and starts it again; resolves when it is ready. */
  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  async #start(awaited: boolean): Promise<void> {
    this.#cancelRestart();
    this.#awaited = awaited;
    this.#endReason = undefined;
    this.#blocked = false;
    this.#timedOut = undefined;
    this.#enter("starting");
    const { stopGraceMs } = this.#options;
    const started: InstanceProcess = startInstanceProcess({
      ...this.#options,
      env: this.#options.env(),
      drainMs: Math.max(0, stopGraceMs - exitMs),
      onMessage: (message) => this.#receive(started, message),
    });
    this.#process = started;
    void started.exited.then((exit) => {
      const how = this.#endReason ?? describeExit(exit);
      const failed = this.#process === started ? this.#held.died(this.#timedOut) : [];
      this.#options.onReport({ kind: "exited", how, failed, visibleInS: this.#visibleInS });
      if (this.#process === started) this.#endedByItself(how);
    });
    const hung = setTimeout(() => started.kill(), startMsMax);
    try {
      await started.ready;
      if (this.#process !== started) return;
      this.#restarts.runs();
      this.#enter("running");
    } finally {
      clearTimeout(hung);
    }
  }

  #receive(from: InstanceProcess, message: InstanceMessage): void {
    if (message.kind === "ready") {
      this.httpUrl = message.http && this.#port ? `http://127.0.0.1:${this.#port.number}` : undefined;
      this.#visibleInS = Math.ceil(message.visibilityTimeoutMs / 1_000);
      this.#timeouts = makeTimeoutWatch(message.functionTimeoutMs, systemClock, (name, invocation) => {
        this.#endReason = `${name} ran longer than functionTimeout`;
        this.#timedOut = invocation;
        from.kill();
      });
    }
    if (message.kind === "loading") {
      const { loadMsMax = startMsMax } = this.#options;
      this.#cancelLoad();
      const reason = `${message.file}: loading the file has blocked it for ${loadMsMax / 1_000} s`;
      this.#cancelLoad = systemClock.after(loadMsMax, () => {
        this.#endReason = reason;
        this.#blocked = true;
        from.kill();
      });
    }
    if (message.kind === "stats") this.#cancelLoad();
    if (message.kind === "failed") this.#endReason = message.message;
    // The last words of V8; its signal is that of any abort.
    if (message.kind === "log" && /^FATAL ERROR: .*out of memory/.test(message.message))
      this.#endReason = "out of memory";
    if (message.kind === "started") {
      this.#timeouts?.started(message.invocation, message.function);
      this.#held.started(message.invocation, message.held);
    }
    if (message.kind === "renewed") this.#held.renewed(message.held);
    if (message.kind === "ended") {
      this.#timeouts?.ended(message.invocation);
      this.#held.ended(message.invocation);
    }
    this.#options.onReport(message);
  }

  #endedByItself(reason: string): void {
    const before = this.state;
    this.#release();
    if (before === "starting" && this.#awaited) {
      this.#enter("dead", { reason });
      return;
    }
    const pauseMs = this.#restarts.ended(reason, { blocked: this.#blocked });
    this.#enter("restarting", { reason, pauseMs });
    // Not a timer of the clock: without any instance this wait is all that keeps the supervisor alive.
    const timer = setTimeout(() => void this.#start(false).catch(() => undefined), pauseMs);
    this.#cancelRestart = () => clearTimeout(timer);
  }

  async #end(reason: string, how: (ending: InstanceProcess) => Promise<unknown>): Promise<void> {
    const ending = this.#release();
    if (ending) await how(ending);
    if (this.state !== "dead") this.#enter("dead", { reason });
  }

  /** Ends the supervision of the process, so that its end from now on is intended. */
  #release(): InstanceProcess | undefined {
    const released = this.#process;
    this.#process = undefined;
    this.#timeouts?.clear();
    this.#held.clear();
    this.#cancelLoad();
    this.#cancelRestart();
    return released;
  }

  #enter(state: InstanceState, why: { readonly reason?: string; readonly pauseMs?: number } = {}): void {
    this.state = state;
    this.#options.onReport({ kind: "state", state, ...why });
  }
}
