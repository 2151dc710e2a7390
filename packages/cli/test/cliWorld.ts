import { stripVTControlCharacters } from "node:util";
import { type ClientWorld, calculations, clientWorld } from "../../../test/client/clientWorld.ts";
import { localCode } from "../../../test/support/localCode.ts";
import type { InstanceApi } from "../api.ts";
import type { Cli } from "../cli.ts";
import { runCommand } from "../program.ts";
import type { Screen } from "../render/text.ts";

/** What a command printed and how it ended. */
export interface Ended {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

export interface CliWorld extends ClientWorld {
  /** Runs one command line, its words as `wordsOf` has them, and lets time pass until it ends. */
  run(line: string, options?: { tty?: boolean; folder?: string }): Promise<Ended>;
  /** The same without waiting: the caller moves the time. */
  start(line: string, options?: { tty?: boolean; folder?: string }): Started;
  startWords(words: readonly string[], options?: { tty?: boolean; folder?: string }): Started;
}

interface Started {
  readonly ended: Promise<Ended>;
  interrupt(signal?: NodeJS.Signals): void;
  err(): string;
}

export interface Printed extends Screen {
  readonly text: () => string;
}

export function printed(options: { tty?: boolean; columns?: number; color?: boolean } = {}): Printed {
  let text = "";
  return {
    isTty: options.tty === true,
    columns: options.columns ?? 80,
    rows: 24,
    color: options.color === true,
    write: async (more) => {
      text += typeof more === "string" ? more : Buffer.from(more).toString("utf8");
    },
    draw: (more) => {
      text += more;
    },
    text: () => text,
  };
}

/** Separated by spaces; one that begins with a quote may hold some. */
const wordsOf = (line: string): string[] =>
  (line.match(/"[^"]*"|[^ ]+/g) ?? []).map((word) => word.replace(/^"([^"]*)"$/, "$1"));

/** Local instances that answer only what is given. */
export const instancesOf = (given: Partial<InstanceApi>) => async (): Promise<InstanceApi> => {
  const never = () => Promise.reject(new Error("must not be asked"));
  const mute = { calculations: never, submit: never, plan: never, schedules: { add: never } };
  return { ...(mute as unknown as InstanceApi), ...given };
};

export async function cliWorld(change: Partial<Cli> = {}): Promise<CliWorld> {
  const inner = await clientWorld();
  const start: CliWorld["start"] = (line, options) => startWords(wordsOf(line).filter(Boolean), options);
  const startWords: CliWorld["startWords"] = (words, { tty = false, folder = "/nowhere" } = {}) => {
    const [out, err] = [printed({ tty }), printed({ tty })];
    const controller = new AbortController();
    const cli: Cli = {
      env: {},
      folder,
      out,
      err,
      clock: inner.client.clock,
      signal: controller.signal,
      connect: async () => inner.client,
      calculations: async () => calculations,
      instances: async () => undefined,
      startThread: async () => localCode(calculations),
      ...change,
    };
    const ended = runCommand(words, cli).then((exitCode) => ({
      exitCode,
      out: out.text(),
      err: err.text(),
    }));
    return {
      ended,
      interrupt: (name = "SIGINT") => controller.abort(new DOMException(name, "AbortError")),
      err: err.text,
    };
  };
  return {
    ...inner,
    start,
    startWords,
    run: (line, options) => inner.world.finish(start(line, options).ended),
  };
}

/** As a terminal would show it in the end: a rewritten line shows only its last text. */
export const shown = (text: string): string =>
  stripVTControlCharacters(text)
    .split("\n")
    .map((line) => line.slice(line.lastIndexOf("\r") + 1))
    .join("\n");
