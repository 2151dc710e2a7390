import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readAppSettings } from "../commands/doctor.ts";
import { cliWorld } from "./cliWorld.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-doctor-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** Files are read in real time, of which the virtual world knows nothing. */
async function runner() {
  const { start } = await cliWorld();
  return (line: string, options: { folder: string }) => start(line, options).ended;
}

test("doctor ends with 0 if all is well, and --json lists the findings", async () => {
  const run = await runner();
  expect(await run("doctor", { folder })).toMatchObject({
    exitCode: 0,
    out: expect.stringMatching(/nothing wrong\n$/),
  });
  const { out } = await run("doctor --json", { folder });
  expect(JSON.parse(out).findings[0]).toMatchObject({ check: "settings", state: "ok" });
});

test("doctor ends with 1 for a problem, with its reason and a fix below it", async () => {
  await writeFile(join(folder, "host.json"), '{"version":"2.0"}');
  await writeFile(
    join(folder, "local.settings.json"),
    '{"Values":{"LEASEFOLD_LEASE_S":"5","DataStorage":"x"}}',
  );
  const { exitCode, out } = await (await runner())("doctor", { folder });
  expect(exitCode).toBe(1);
  expect(out).toMatch(
    /✗ settings LEASEFOLD_LEASE_S=5: .*\n {11}the app does not start with it\n {11}→ give a value/,
  );
  expect(out).toContain("LEASEFOLD_SCHEDULE is not set");
  expect(out).toContain("messageEncoding is base64");
  expect(out).toMatch(/\d wrong, \d warnings?\n$/);
});

test("the settings of a named file are judged without those of the shell, and so is the storage that they name", async () => {
  const opened: unknown[] = [];
  const shell = { DataStorage: "of-shell", LEASEFOLD_LEASE_S: "5", LEASEFOLD_SCHEDULE: "0 * * * * *" };
  const { start, client } = await cliWorld({
    env: shell,
    connect: async (_options, env) => {
      opened.push(env);
      return client;
    },
  });
  const doctor = async (line: string) => (await start(line, { folder }).ended).out;
  const ofFile = { DataStorage: "of-file", AzureWebJobsStorage: "x" };
  await writeFile(join(folder, "other.json"), JSON.stringify({ Values: ofFile }));
  const judged = await doctor("doctor --settings other.json");
  expect(judged).not.toContain("LEASEFOLD_LEASE_S=5");
  expect(judged).toContain("LEASEFOLD_SCHEDULE is not set");
  expect(opened).toEqual([ofFile]);
  await writeFile(join(folder, "none.json"), '{"Values":{"AzureWebJobsStorage":"x"}}');
  expect(await doctor("doctor --settings none.json")).toContain("✗ storage  none.json names no storage");
  expect(opened).toHaveLength(1);
  // The usual file gives way to the shell, as it does for "func start".
  await writeFile(join(folder, "local.settings.json"), JSON.stringify({ Values: ofFile }));
  const usual = await doctor("doctor");
  expect(usual).toContain("LEASEFOLD_LEASE_S=5");
  expect(usual).toContain("the one that the environment names");
  expect(opened).toEqual([ofFile, undefined]);
});

test("the storage that local.settings.json names is contacted only if the file or another storage is named", async () => {
  const opened: unknown[] = [];
  const { start, client } = await cliWorld({
    connect: async (options, env) => {
      opened.push([options.account, env]);
      return client;
    },
  });
  const doctor = async (line: string) => (await start(line, { folder }).ended).out;
  const identity = { DataStorage__credential: "managedidentity", DataStorage__clientId: "c" };
  const foreign = {
    DataStorage__blobServiceUri: "https://storage.example.org",
    DataStorage__queueServiceUri: "https://storage.example.org",
  };
  await writeFile(
    join(folder, "local.settings.json"),
    JSON.stringify({ Values: { ...foreign, ...identity } }),
  );
  const judged = await doctor("doctor");
  expect(judged).toContain("storage.example.org is no blob endpoint of Azure Storage");
  expect(judged).toMatch(
    /– storage {2}local.settings.json names a storage, .*\n {11}→ .*leasefold doctor --settings/,
  );
  expect(opened).toEqual([]);
  expect(await doctor("doctor --account mine")).toContain("the one that --account names");
  expect(opened).toEqual([["mine", undefined]]);
  // The app's identity exists in Azure alone, so the sign-in of this machine takes its place.
  await doctor("doctor --settings local.settings.json");
  expect(opened.at(-1)).toEqual([undefined, foreign]);
});

test("a file named by --settings must exist and contain settings", async () => {
  const run = await runner();
  expect(await run("doctor --settings none.json", { folder })).toMatchObject({
    exitCode: 2,
    err: expect.stringContaining("none.json"),
  });
  await writeFile(join(folder, "bad.json"), "{");
  for (const path of ["bad.json", join(folder, "bad.json")])
    expect(await run(`doctor --settings ${path}`, { folder })).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining("not JSON"),
    });
});

test.each([
  ['{"IsEncrypted":false,"Values":{"A":"1"}}'],
  ['[{"name":"A","value":"1","slotSetting":false}]'],
  ['{"A":"1"}'],
])("settings are read from %s", (text) => {
  expect(readAppSettings(text)).toEqual({ A: "1" });
});

test("encrypted settings are refused with the command that decrypts them", () => {
  expect(() => readAppSettings('{"IsEncrypted":true,"Values":{}}')).toThrow("func settings decrypt");
});
