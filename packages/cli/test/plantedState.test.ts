import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/engine/storage/system.ts";
import { failureOf } from "../../../test/client/clientWorld.ts";
import { localFileOf, standInSupervisor } from "../../../test/support/standInSupervisor.ts";
import { findInstanceApi } from "../api.ts";
import { calculationFiles, knownCalculations } from "../askedCalculation.ts";
import type { Cli } from "../cli.ts";
import { addShow } from "../commands/instances.ts";
import { connectClient, findStorage } from "../connect.ts";
import { localFilePath, writeLocalFile } from "../local/localFile.ts";
import { startThread } from "../main.ts";
import { runCommand } from "../program.ts";
import { printed } from "./cliWorld.ts";

/**
 * A cloned repository, an unpacked archive or another user's folder above brings a `.leasefold/local.json` of its own,
 * which names code and storage. All in it looks as if instances ran.
 */
let root: string;
let folder: string;
let ran: string;
let env: Record<string, string>;
const supervisor = standInSupervisor();
const evil =
  "DefaultEndpointsProtocol=http;AccountName=acc;AccountKey=Zg==;BlobEndpoint=http://192.0.2.1/acc;QueueEndpoint=http://192.0.2.1/acc";

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "leasefold-planted-"));
});
afterAll(async () => {
  supervisor.kill();
  await rm(root, { recursive: true });
});
beforeEach(async () => {
  const own = await mkdtemp(join(root, "case-"));
  folder = join(own, "cloned", "below");
  ran = join(own, "ran");
  env = { XDG_RUNTIME_DIR: join(own, "runtime") };
  await mkdir(folder, { recursive: true });
  await mkdir(join(own, "runtime"), { mode: 0o700 });
  const code = join(own, "cloned", "evil.mjs");
  await writeFile(
    code,
    `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(ran)}, "");
     export default { name: "evil", params: {}, plan() {}, compute() {}, merge() {}, zero() {} };`,
  );
  for (const place of [join(own, "cloned"), folder]) {
    await mkdir(join(place, ".leasefold"));
    const local = localFileOf(supervisor.pid ?? 0, { connectionString: evil });
    const text = JSON.stringify({ ...local, calculations: [code], startedAt: "2099-01-01T00:00:00.000Z" });
    await writeFile(join(place, ".leasefold", "local.json"), text);
  }
});
afterEach(() => expect(existsSync(ran)).toBe(false));

async function run(line: string) {
  const [out, err] = [printed(), printed()];
  const calculations = (file?: string) => knownCalculations({ env, folder }, file);
  const cli: Cli = {
    ...{ env, folder, out, err, clock: systemClock, signal: new AbortController().signal, calculations },
    connect: (options) => connectClient(options, { env, folder }, calculations),
    instances: (options) => findInstanceApi(options, { env, folder }),
    startThread: (access, file) =>
      startThread({ env, folder }, access, calculationFiles({ env, folder }, file)),
  };
  return { exitCode: await runCommand(line.split(" "), cli, [addShow]), out: out.text(), err: err.text() };
}

describe("a planted .leasefold/local.json", () => {
  it.each(["calculations", "calculations primes", "plan primes --to 1e6"])(
    "loads no code in %s",
    async (line) => {
      const { exitCode, out } = await run(line);
      expect(exitCode).toBe(0);
      expect(out).not.toContain("evil");
    },
  );

  it.each(["submit evil", "calculations evil", "check evil", "plan evil"])(
    "makes nothing known to %s",
    async (line) => {
      expect(await run(line)).toMatchObject({ exitCode: 2, out: "" });
    },
  );

  it.each(["status r1", "upload evil.mjs", "show", "show connection"])(
    "names no storage for %s",
    async (line) => {
      const { exitCode, out, err } = await run(line);
      expect({ exitCode, out }).toEqual({ exitCode: 2, out: "" });
      expect(err).toMatch(/leasefold up/);
      expect(err).not.toContain("192.0.2.1");
    },
  );
});

describe("storage that is named", () => {
  /** A search for instances now ends with an error. */
  const unreadable = async () => {
    const path = await localFilePath(env, folder);
    await writeLocalFile(path, localFileOf(supervisor.pid ?? 0));
    await chmod(path, 0o644);
  };
  const named = { connection: "AccountName=acc;AccountKey=Zg==;EndpointSuffix=core.windows.net" };

  it("keeps every command from searching for running instances", async () => {
    await unreadable();
    expect(await failureOf(findStorage({}, { env, folder }))).toMatchObject({ code: "not-private" });
    expect(await failureOf(findInstanceApi({}, { env, folder }))).toMatchObject({ code: "not-private" });
    const settings = { ...env, DataStorage: "UseDevelopmentStorage=true" };
    expect(await findStorage(named, { env, folder })).toMatchObject({ shown: "acc" });
    expect(await findStorage({}, { env: settings, folder })).toBeDefined();
    expect(await findInstanceApi(named, { env, folder })).toBeUndefined();
    expect(await findInstanceApi({ account: "acc" }, { env, folder })).toBeUndefined();
    expect(await findInstanceApi({}, { env: settings, folder })).toBeUndefined();
  });

  it("is asked for by its own namespace only: instances of another one are not asked", async () => {
    await writeLocalFile(await localFilePath(env, folder), localFileOf(supervisor.pid ?? 0));
    expect(await findInstanceApi({}, { env, folder })).toBeDefined();
    expect(await findInstanceApi({ namespace: "other" }, { env, folder })).toBeUndefined();
  });
});
