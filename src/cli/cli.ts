import type { FileAccess } from "../calculations/files.ts";
import type { Calculations } from "../calculations/registry.ts";
import type { Client } from "../client/client.ts";
import type { LocalFile } from "../local/localFile.ts";
import type { Clock } from "../storage/ports.ts";
import type { UserCode } from "../worker/threads/userCode.ts";
import type { InstanceApi } from "./instanceApi.ts";

/** What a command may touch of the process it runs in; a test gives its own. */
export interface Cli {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where relative file names begin. */
  readonly folder: string;
  readonly out: Screen;
  readonly err: Screen;
  readonly clock: Clock;
  /** Fires with Ctrl-C and its like; the message of its reason is then the signal's name. */
  readonly signal: AbortSignal;
  /** Asks a person yes or no; absent where none can be asked. */
  confirm?(question: string): Promise<boolean>;
  /** Opens the storage that the options or settings name. */
  connect(options: ConnectOptions): Promise<Client>;
  /** The calculations known here, without any storage; with a `file`, the built-in ones and the last one from it. */
  calculations(file?: string): Promise<Calculations>;
  /** Embedded instances that run here; undefined where the options or settings name a storage, or nothing runs. */
  instances(options: ConnectOptions): Promise<InstanceApi | undefined>;
  /** Which instances of `leasefold up` are behind the storage that is asked; absent or none elsewhere. */
  instanceStates?(options: ConnectOptions): Promise<LocalFile["instances"]>;
  /** A thread of its own for code of these calculations, as a worker has it; whoever asks stops it. */
  startThread(access: FileAccess, file?: string): Promise<UserCode>;
}

export interface ConnectOptions {
  readonly connection?: string | undefined;
  readonly account?: string | undefined;
  readonly namespace?: string | undefined;
}

export interface Screen {
  readonly isTty: boolean;
  readonly columns: number;
  readonly colour: boolean;
  /** Resolves when the text was taken, so that a slow reader slows a stream down. */
  write(text: string | Uint8Array): Promise<void>;
}

/** What the commands of one call share: its options, read late because commander fills them late. */
export interface Session {
  readonly cli: Cli;
  json(): boolean;
  client(): Promise<Client>;
  instances(): Promise<InstanceApi | undefined>;
  /** Which local instances do not run, and why; undefined where all do, or there are none. */
  instancesDown(): Promise<string | undefined>;
  /** How long this command may take to stop after Ctrl-C; a second is what most of them need. */
  setStopMs(ms: number): void;
  /** The exit code if nothing is thrown. */
  setExitCode(code: number): void;
  /** The same, and Ctrl-C does not change it: another program had the last word. */
  keepExitCode(code: number): void;
  /** One value for programs, on one line. */
  printJson(value: unknown): Promise<void>;
  /** A line for people on standard output. */
  print(line: string): Promise<void>;
  /** A line beside the answer, on standard error. */
  note(line: string): Promise<void>;
}
