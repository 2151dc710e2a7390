import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  CalculationError,
  ConfigError,
  CorruptDataError,
  InputError,
  InvariantError,
  NotReadyError,
  StorageError,
} from "../../../src/engine/model/errors.ts";
import { storageErrorOfCode } from "../../../src/engine/storage/storageErrors.ts";
import { abortError } from "../../../src/engine/storage/system.ts";
import { failureOf } from "../../../test/client/clientWorld.ts";
import { checkReachable, findStorage } from "../connect.ts";
import { exitCodes } from "../exitCodes.ts";
import { printError } from "../program.ts";
import { cliWorld, printed } from "./cliWorld.ts";
import { commandNames } from "./commandNames.ts";

/** What a command can do, as its description begins. */
const verbs = new Set(
  `cancel check compute continue count create delete depose end limit list plan print recompute run send serve show start
  stop test upload write`.split(/\s+/),
);

describe("the program", () => {
  it("lists its commands, where storage is found, and what the exit codes mean", async () => {
    const { run } = await cliWorld();
    const { exitCode, out, err } = await run("--help");
    expect([exitCode, err]).toEqual([0, ""]);
    for (const name of commandNames) {
      expect(out).toMatch(new RegExp(`^  ${name} `, "m"));
    }
    for (const [code, meaning] of exitCodes) expect(out).toContain(`  ${String(code).padEnd(4)}${meaning}`);
    expect(out).toContain("Storage: --connection, else --account");
    for (const line of out.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
  });

  it("explains a command and tells its version without storage", async () => {
    const { run } = await cliWorld({ connect: () => Promise.reject(new Error("asked")) });
    expect(await run("submit --help")).toMatchObject({
      exitCode: 0,
      out: expect.stringContaining("--pack-size"),
    });
    expect((await run("--version")).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it.each([...commandNames, "calculations", "leader break", "queues peek", "queues clear"])(
    "the help of %s shows the options that hold everywhere",
    async (name) => {
      const { run } = await cliWorld();
      const { exitCode, out } = await run(`${name} --help`);
      expect(exitCode).toBe(0);
      for (const option of ["--connection", "--account", "--namespace", "--json"])
        expect(out).toContain(option);
    },
  );

  it("describes each command by what it does, with a verb first", async () => {
    const { run } = await cliWorld();
    const listed = [
      (await run("--help")).out,
      (await run("leader --help")).out,
      (await run("queues --help")).out,
    ];
    const commands = listed.flatMap((out) => {
      const groups = out.matchAll(/^(?:[A-Z][\w ]+):\n((?: {2}.*\n)+)/gm);
      const rows = [...groups].filter(([heading]) => !/^(Options|Global|Exit|Arguments)/.test(heading));
      return rows.flatMap(([, group = ""]) => [...group.matchAll(/^ {2}([a-z]+) .*? {2,}([a-z]+) /gm)]);
    });
    const first = commands.filter(([, name]) => name !== "help").map(([, , word]) => word);
    expect(first.length).toBeGreaterThan(commandNames.length);
    expect([...new Set(first)].filter((word) => !verbs.has(word ?? ""))).toEqual([]);
  });

  it("lists its commands in groups", async () => {
    const { run } = await cliWorld();
    const headings = [...(await run("--help")).out.matchAll(/^([A-Z][\w ]+):$/gm)].map(([, one]) => one);
    expect(headings).toEqual(["Options", "Calculations", "Runs", "Operation", "Commands", "Exit codes"]);
  });

  it.each(["nosuch --help", "nosuch -h", "--json nosuch --help", "help nosuch", "nosuch"])(
    "ends %s, which asks for a command that there is not, with 2",
    async (line) => {
      const { run } = await cliWorld();
      const { exitCode, out, err } = await run(line);
      expect([exitCode, out]).toEqual([2, ""]);
      if (!line.startsWith("help")) expect(err).toContain("unknown command 'nosuch'");
    },
  );

  it.each(["leader nosuch --help", "leader --name x nosuch -h", "queues nosuch --help"])(
    "ends %s, of a group that has no such command, with 2 and says why",
    async (line) => {
      const { run } = await cliWorld();
      const { exitCode, out, err } = await run(line);
      expect([exitCode, out]).toEqual([2, ""]);
      expect(err).toContain("nosuch");
    },
  );

  it("shows its help and ends with 2 when no command is given", async () => {
    const { run } = await cliWorld();
    const { exitCode, out, err } = await run("");
    expect([exitCode, out + err]).toEqual([2, expect.stringContaining("Usage: leasefold")]);
  });
});

describe("an error", () => {
  it.each([
    [new InputError("invalid", "bad", "cap: too large"), 2],
    [new ConfigError("no-storage", "no storage"), 2],
    [new NotReadyError("not-finished", "not finished", { retry: "later" }), 3],
    [new NotReadyError("run-cancelled", "was cancelled"), 1],
    [new NotReadyError("run-failed", "failed", { details: { cause: "pack-failed" } }), 7],
    [new NotReadyError("run-failed", "failed", { details: { cause: "deadline" } }), 1],
    [new StorageError("busy", "", undefined, "no answer"), 4],
    [new StorageError("refused", "X", 400, "refused"), 4],
    [new StorageError("denied", "AuthorizationPermissionMismatch", 403, "denied"), 5],
    [new CorruptDataError("bad-shape", "does not decode"), 6],
    [new CalculationError("calculation-threw", "threw"), 7],
    [new InvariantError("x", "impossible"), 70],
    [new TypeError("undefined is no function"), 70],
  ])("%s is one line, without a stack, and its exit code is documented", async (error, exitCode) => {
    const err = printed();
    expect(await printError(error, { err, env: {} }, false)).toBe(exitCode);
    expect(err.text().split("\n")).toHaveLength(2);
    expect(err.text()).not.toContain("    at ");
    expect(exitCodes.map(([code]) => code)).toContain(exitCode);
  });

  it("of storage that is denied names the role that is missing", async () => {
    const err = printed();
    const denied = storageErrorOfCode("queue", "AuthorizationPermissionMismatch", 403, "Put Message x");
    expect(await printError(denied, { err, env: {} }, false)).toBe(5);
    expect(err.text()).toContain("Storage Queue Data Contributor");
  });

  it("NODE_DEBUG=leasefold shows the stack of a bug, and only of a bug", async () => {
    const env = { NODE_DEBUG: "leasefold" };
    const [bug, mistake] = [printed(), printed()];
    await printError(new TypeError("x"), { err: bug, env }, false);
    await printError(new InputError("invalid", "bad", "x"), { err: mistake, env }, false);
    expect(bug.text()).toContain("    at ");
    expect(mistake.text()).not.toContain("    at ");
  });
});

describe("the storage that the CLI talks to", () => {
  const emulator = "UseDevelopmentStorage=true";
  const named =
    "DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=c2VjcmV0;EndpointSuffix=core.windows.net";

  it("is the connection string of the option before that of the setting, and shows no key", async () => {
    const found = await findStorage({ connection: named }, { env: { DataStorage: emulator }, folder: "/" });
    expect(found).toMatchObject({ connection: { connectionString: named }, shown: "acc" });
    expect(await findStorage({}, { env: { DataStorage: emulator }, folder: "/" })).toMatchObject({
      connection: { connectionString: emulator },
      shown: "the emulator on this machine",
    });
  });

  it("is an account by its name, with the sign-in of the machine", async () => {
    const { connection, shown } = await findStorage({ account: "acc123" }, { env: {}, folder: "/" });
    expect(shown).toBe("https://acc123.blob.core.windows.net");
    expect(connection).toMatchObject({ queueServiceUri: "https://acc123.queue.core.windows.net" });
  });

  it("is that of the settings with an identity", async () => {
    const env = { DataStorage__blobServiceUri: "https://b", DataStorage__queueServiceUri: "https://q" };
    expect(await findStorage({}, { env, folder: "/" })).toMatchObject({
      shown: "https://b",
      connection: { queueServiceUri: "https://q" },
    });
    const half = { DataStorage__queueServiceUri: "https://q" };
    expect(await failureOf(findStorage({}, { env: half, folder: "/" }))).toMatchObject({
      message: expect.stringContaining("blobServiceUri"),
    });
  });

  it("storage that is not named is an error that suggests leasefold up", async () => {
    const runtime = await mkdtemp(join(tmpdir(), "leasefold-program-"));
    const error = await failureOf(findStorage({}, { env: { XDG_RUNTIME_DIR: runtime }, folder: "/" }));
    await rm(runtime, { recursive: true });
    expect(error).toMatchObject({ code: "no-storage", message: expect.stringContaining("leasefold up") });
  });

  it.each([
    [{ connection: named, account: "acc" }, "give only one"],
    [{ account: "No_Account" }, "3 to 24 lower-case"],
  ])("is refused for %j", async (options, message) => {
    expect(String(await failureOf(findStorage(options, { env: {}, folder: "/" })))).toContain(message);
  });

  it("storage that does not answer in time is named in the error", async () => {
    const silent = (signal: AbortSignal) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(abortError(signal.reason))),
      );
    expect(await failureOf(checkReachable("https://place", silent, 1))).toMatchObject({
      kind: "busy",
      message: "cannot reach storage at https://place: no answer within 0.001 s",
    });
    const refused = () =>
      Promise.reject(storageErrorOfCode("blob", "", undefined, "Get Blob (ECONNREFUSED)"));
    expect(await failureOf(checkReachable("p", refused))).toMatchObject({
      kind: "busy",
      message: expect.stringContaining("ECONNREFUSED"),
    });
    const denied = () => Promise.reject(storageErrorOfCode("blob", "AuthorizationFailure", 403, "x"));
    expect(await failureOf(checkReachable("p", denied))).toMatchObject({
      storageCode: "AuthorizationFailure",
    });
    const noToken = () => Promise.reject(storageErrorOfCode("blob", "", 401, "no token"));
    // Never Contributor on the account: whoever reads and steers runs needs less.
    const signIn = { kind: "denied", message: expect.stringMatching(/^(?!.*Contributor).*az login/) };
    expect(await failureOf(checkReachable("p", noToken))).toMatchObject(signIn);
    const other = () => Promise.reject(storageErrorOfCode("blob", "", 404, "x"));
    expect(await failureOf(checkReachable("p", other))).toMatchObject({
      message: expect.stringContaining("is not Azure Storage"),
    });
  });

  it("a namespace must be a valid prefix of names", async () => {
    const { checkNamespace } = await import("../connect.ts");
    expect(checkNamespace("my-app")).toBe("my-app");
    for (const bad of ["My", "a--b", "a".repeat(41), ""])
      expect(() => checkNamespace(bad)).toThrow("--namespace");
  });
});
