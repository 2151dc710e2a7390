import type { Command } from "commander";
import type { Calculations } from "../../src/engine/calculation/contract.ts";
import type { FileAccess } from "../../src/engine/calculation/files.ts";
import type { Client } from "../../src/engine/client/client.ts";
import { InputError } from "../../src/engine/model/errors.ts";
import type { Clock } from "../../src/engine/storage/ports.ts";
import type { UserCode } from "../../src/engine/worker/threads/userCode.ts";
import type { Leasefold } from "../client/leasefoldClient.ts";
import { apiHere, type InstanceApi, portsOf } from "./api.ts";
import type { ConnectOptions, Env, Surroundings } from "./connect.ts";
import type { LocalFile } from "./local/localFile.ts";
import { instancesDown } from "./render/instances.ts";
import { type Column, type Row, table } from "./render/table.ts";
import { oneLine, paint, type Screen, type Style } from "./render/text.ts";

/** What a command may use of its process; a test gives its own. */
export interface Cli extends Surroundings {
  readonly out: Screen;
  readonly err: Screen;
  readonly clock: Clock;
  /** Fires on Ctrl-C and its like; the message of its reason is then the signal's name. */
  readonly signal: AbortSignal;
  /** Asks a person yes or no; absent without a terminal. */
  confirm?(question: string): Promise<boolean>;
  /** Opens the storage that options or settings name: those of `env`, by default the process's. */
  connect(options: ConnectOptions, env?: Env): Promise<Client>;
  /** The calculations known here, without storage; with `file`, the built-in ones and last the one of that file. */
  calculations(file?: string, name?: string): Promise<Calculations>;
  /** The API of local instances; undefined if options or settings name a storage, or nothing runs. */
  instances(options: ConnectOptions): Promise<InstanceApi | undefined>;
  /** The instances of `leasefold up` that use the same storage. */
  instanceStates?(options: ConnectOptions): Promise<LocalFile["instances"]>;
  /** Opens a file in the program that the system has for it, such as the browser. */
  openFile?(path: string): Promise<void>;
  /** Lets the calculations that this process and its instances run find these variables. Throws `InputError`. */
  passOn?(names: readonly string[]): void;
  /** Starts a worker thread with code of these calculations; the caller stops it. */
  startThread(access: FileAccess, file?: string): Promise<UserCode>;
}

export type AddCommand = (program: Command, session: Session) => void;

/** What the parts of one command share. `options` is a function because commander parses them late. */
export class Session {
  readonly cli: Cli;
  /** The exit code unless the command throws. */
  exitCode = 0;
  /** The exit code stays the same after Ctrl-C, as it is that of another program. */
  keepsExitCode = false;
  /** Time that the command may take to stop after Ctrl-C, such as to remove a half-written file. */
  stopMs = 1_000;
  readonly #options: () => ConnectOptions & { json?: boolean };
  #storage: Promise<Client> | undefined;

  constructor(cli: Cli, options: () => ConnectOptions & { json?: boolean }) {
    this.cli = cli;
    this.#options = options;
  }

  json(): boolean {
    return this.#options().json === true;
  }

  /** The API in this process, over the storage that options or settings name. It knows these calculations. */
  async api(calculations?: Calculations): Promise<Leasefold> {
    const client = await this.storage();
    return apiHere(portsOf(this, { ...client, calculations: calculations ?? client.calculations }));
  }

  /** The API of the local instances, which have code that this process may not have. */
  instances(): Promise<InstanceApi | undefined> {
    return this.cli.instances(this.#options());
  }

  /**
   * The storage itself, by the engine's functions, for what the API does not do:
   * - `upload`, `result`, `verify`: more bytes or a longer wait than one request of HTTP takes
   * - `plan`, `sql`, `check`, `try`: code that runs in this process reads files and recorded inputs
   * - `lead`, `leader`: elections of any name; the API knows that of the app alone
   * - `inputs`, `leader break`, `queues clear`, `doctor`: an operator's work, which a function key does not allow
   * - `ui` serves the API over it, and `work` checks that it answers
   */
  storage(): Promise<Client> {
    this.#storage ??= this.cli.connect(this.#options());
    return this.#storage;
  }

  /** Which local instances are down and why; undefined if all run or there are none. */
  async instancesDown(): Promise<string | undefined> {
    return instancesDown((await this.cli.instanceStates?.(this.#options())) ?? []);
  }

  /** Notes which local instances are down, as the answer then may not change. */
  async noteInstancesDown(): Promise<void> {
    const down = await this.instancesDown();
    if (down !== undefined) await this.note(down);
  }

  /** One value for programs, on one line. */
  printJson(value: unknown): Promise<void> {
    return this.print(JSON.stringify(value));
  }

  print(line: string): Promise<void> {
    return this.cli.out.write(`${line}\n`);
  }

  printTable(columns: readonly Column[], rows: readonly Row[]): Promise<void> {
    return this.cli.out.write(table(this.cli.out, columns, rows));
  }

  /** Resolves at Ctrl-C. */
  stopped(): Promise<void> {
    const { signal } = this.cli;
    return new Promise((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  /** One line on standard error, also of a text that others wrote: one with a line break could forge a second. */
  note(line: string, style?: Style): Promise<void> {
    const { err } = this.cli;
    const shown = oneLine(line);
    return err.write(`${style === undefined ? shown : paint(err, style, shown)}\n`);
  }
  /** Shows a look and asks; throws `InputError` where nobody says yes. `what`: the command. */
  async confirm(what: string, look: string, question: string): Promise<void> {
    if (this.cli.confirm === undefined) {
      const why = `${what} cannot ask for confirmation without a terminal: give --yes`;
      throw new InputError("invalid", "not-confirmed", why, { field: "yes" });
    }
    await this.cli.err.write(`${look}\n`);
    if (!(await this.cli.confirm(question)))
      throw new InputError("conflict", "not-confirmed", "nothing was done");
  }
}
