import { describe, expect, it } from "vitest";
import { leadOn } from "../../../src/election/api/lead.ts";
import { calculations, clientWorld, names } from "../../../test/client/clientWorld.ts";
import { untilTold } from "../../../test/election/alone.ts";
import { noAnswer } from "../../../test/election/faultyLease.ts";
import type { Cli } from "../cli.ts";
import { leadWith } from "../commands/lead.ts";
import { type Child, startChild } from "../commands/runWhileLeading.ts";
import { exitCodes } from "../exitCodes.ts";
import { runCommand } from "../program.ts";
import { printed } from "./cliWorld.ts";

interface FakeChild extends Child {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Each signal it got, and when. */
  readonly signals: (readonly [name: string, atMs: number])[];
  end(code: number): void;
}

/** The command on in-memory storage; programs are started only in name, and end when the test says so or on SIGKILL. */
async function leadWorld(options: { readonly tty?: boolean } = {}) {
  const inner = await clientWorld();
  const { world, storage } = inner;
  const children: FakeChild[] = [];
  /** From `off` on every lease call of the command is lost on its way. */
  const network = { off: false };
  const through = <T>(call: () => Promise<T>): Promise<T> =>
    network.off ? Promise.reject(noAnswer()) : call();
  const client = inner.clientOn({
    ...storage,
    lease(container, blob) {
      const lease = storage.lease(container, blob);
      return {
        ...lease,
        view: (more) => through(() => lease.view(more)),
        renew: (id, more) => through(() => lease.renew(id, more)),
        release: (id, more) => through(() => lease.release(id, more)),
        writeRecord: (id, metadata, more) => through(() => lease.writeRecord(id, metadata, more)),
      };
    },
  });
  const start = (line: string) => {
    const [out, err] = [printed(options), printed(options)];
    const interrupt = new AbortController();
    const cli: Cli = {
      env: {},
      folder: "/nowhere",
      out,
      err,
      clock: inner.client.clock,
      signal: interrupt.signal,
      connect: async () => client,
      calculations: async () => calculations,
      instances: async () => undefined,
      startThread: () => Promise.reject(new Error("no thread is needed")),
    };
    const add = leadWith((command, env) => {
      let end = (_code: number): void => {};
      const ended = new Promise<number>((resolve) => {
        end = resolve;
      });
      const signals: (readonly [string, number])[] = [];
      const kill = (signal: string) => {
        signals.push([signal, world.nowMs()]);
        if (signal === "SIGKILL") end(137);
      };
      const child = { command, env, signals, end, ended, kill };
      children.push(child);
      return child;
    });
    const exitCode = runCommand(line.split(" "), cli, [add]);
    return {
      exitCode,
      err: err.text,
      interrupt: (name: string) => interrupt.abort(new DOMException(name, "AbortError")),
    };
  };
  const other = world.clock();
  const rival = (holder: string, signal?: AbortSignal) =>
    leadOn(
      {
        container: names.coordination,
        blobs: storage.blobs,
        lease: (blob) => storage.lease(names.coordination, blob),
        clock: other,
        random: world.random,
      },
      { name: "nightly", holder, ...(signal === undefined ? {} : { signal }) },
      untilTold,
    );
  const child = async (): Promise<FakeChild> => {
    await world.until(() => children.length > 0, 60_000);
    const [first] = children;
    if (first === undefined) throw new Error("no program was started");
    return first;
  };
  return { ...inner, start, rival, child, children, network };
}

it.skipIf(process.platform === "win32").each([
  ["nosuchcmd-leasefold", 127, "cannot run nosuchcmd-leasefold: no such file or directory (ENOENT)"],
  [import.meta.filename, 126, "permission denied (EACCES)"],
])(
  "a program that cannot be run, such as %s, is told with the exit code of shells",
  async (file, code, why) => {
    const told: string[] = [];
    expect(await startChild([file], {}, (one) => void told.push(one)).ended).toBe(code);
    expect(told).toEqual([expect.stringContaining(why)]);
  },
);

describe("leasefold lead", () => {
  it("runs the command in a term, passes on its exit code and frees the lease", async () => {
    const { start, child, world, storage } = await leadWorld();
    const { exitCode, err } = start("lead --name nightly --holder me -- node job.js --fast");
    const one = await child();
    expect(one.command).toEqual(["node", "job.js", "--fast"]);
    expect(one.env).toEqual({ LEASEFOLD_TERM: "1", LEASEFOLD_HOLDER: "me" });
    await world.advance(300_000);
    expect(one.signals).toEqual([]);
    one.end(7);
    expect(await world.finish(exitCode)).toBe(7);
    expect(err()).toBe('me leads "nightly" in term 1\n');
    expect(await storage.lease(names.coordination, "nightly").view()).toMatchObject({
      leaseState: "available",
    });
  });

  it("passes on the words of the command as they are, empty ones too", async () => {
    const { start, child, world } = await leadWorld();
    const { exitCode } = start("lead --name nightly -- node  --fast");
    const one = await child();
    expect(one.command).toEqual(["node", "", "--fast"]);
    one.end(0);
    expect(await world.finish(exitCode)).toBe(0);
  });

  it("ends with 75 and says who leads, if another does", async () => {
    const { start, rival, world, children } = await leadWorld();
    void rival("other");
    await world.advance(1_000);
    const { exitCode, err } = start("lead --name nightly -- job");
    expect(await world.finish(exitCode)).toBe(75);
    expect(err()).toBe('other in term 1 leads "nightly"; the command was not run\n');
    expect(children).toEqual([]);
  });

  it("says once while it waits that storage does not answer", async () => {
    const { start, rival, world, network } = await leadWorld();
    const stop = new AbortController();
    const ended = rival("other", stop.signal);
    await world.advance(1_000);
    const waiting = start("lead --name nightly --wait -- job");
    await world.advance(5_000);
    expect(waiting.err()).not.toContain("does not answer");
    network.off = true;
    await world.advance(10_000);
    expect(waiting.err().match(/waiting: storage does not answer: \w.*\n/g)).toHaveLength(1);
    waiting.interrupt("SIGINT");
    expect(await world.finish(waiting.exitCode)).toBe(130);
    stop.abort();
    await world.finish(ended);
  });

  it("waits with --wait, and Ctrl-C ends the waiting", async () => {
    const { start, rival, child, world } = await leadWorld();
    const stop = new AbortController();
    const ended = rival("other", stop.signal);
    await world.advance(1_000);
    const impatient = start("lead --name nightly --wait -- job");
    const patient = start("lead --name nightly --wait -- job");
    await world.advance(30_000);
    expect(impatient.err()).toBe('waiting: other leads "nightly" in term 1\n');
    impatient.interrupt("SIGINT");
    expect(await world.finish(impatient.exitCode)).toBe(130);
    stop.abort();
    await world.finish(ended);
    (await child()).end(0);
    expect(await world.finish(patient.exitCode)).toBe(0);
  });

  it("the command is stopped before another can acquire the lease if no renewal is confirmed", async () => {
    const { start, child, world, network } = await leadWorld();
    const { exitCode, err } = start("lead --name nightly --grace 4 -- job");
    const one = await child();
    await world.advance(20_000);
    network.off = true;
    const cutMs = world.nowMs();
    expect(await world.finish(exitCode)).toBe(76);
    const [term, kill] = one.signals;
    expect(one.signals.map(([name]) => name)).toEqual(["SIGTERM", "SIGKILL"]);
    expect((kill?.[1] ?? 0) - (term?.[1] ?? 0)).toBeCloseTo(4_000, -1);
    expect((kill?.[1] ?? 0) - cutMs).toBeLessThan(15_000 - 900);
    expect(err()).toContain("the lease was lost in term 1 (stop-work)");
  });

  it("kills the command at once when another may lead already", async () => {
    const { start, child, world, storage } = await leadWorld();
    const { exitCode } = start("lead --name nightly -- job");
    const one = await child();
    await world.advance(3_000);
    storage.operator.breakLease(names.coordination, "nightly");
    expect(await world.finish(exitCode)).toBe(76);
    expect(one.signals.map(([name]) => name)).toEqual(["SIGKILL"]);
  });

  it("passes signals on, keeps the lease until the command has ended, and its exit code wins", async () => {
    const { start, child, world, storage } = await leadWorld();
    const { exitCode, interrupt } = start("lead --name nightly -- job");
    const one = await child();
    interrupt("SIGTERM");
    await world.advance(3_000);
    expect(await storage.lease(names.coordination, "nightly").view()).toMatchObject({ leaseState: "leased" });
    expect(one.signals.map(([name]) => name)).toEqual(["SIGTERM"]);
    one.end(3);
    expect(await world.finish(exitCode)).toBe(3);
  });

  it("Ctrl-C is left to the terminal, and a command that ignores it is killed after the grace", async () => {
    const { start, child, world } = await leadWorld({ tty: true });
    const { exitCode, interrupt } = start("lead --name nightly --grace 2 -- job");
    const one = await child();
    interrupt("SIGINT");
    expect(await world.finish(exitCode)).toBe(137);
    expect(one.signals.map(([name]) => name)).toEqual(["SIGKILL"]);
  });

  it("a wrong name, a wrong grace and a missing command end with 2", async () => {
    const { start, world, children } = await leadWorld();
    for (const line of [
      "lead --name leader -- job",
      "lead --name a//b -- job",
      "lead --name nightly --grace 31 -- job",
      "lead --name nightly --grace 0 -- job",
      "lead --name nightly",
      "lead -- job",
    ]) {
      expect([line, await world.finish(start(line).exitCode)]).toEqual([line, 2]);
    }
    expect(children).toEqual([]);
  });

  it("has its exit codes in the table", () => {
    expect(exitCodes.map(([code]) => code)).toEqual(expect.arrayContaining([75, 76, 130]));
  });
});
