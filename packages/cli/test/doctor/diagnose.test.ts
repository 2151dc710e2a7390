import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { StorageError } from "../../../../src/engine/model/errors.ts";
import { poisonOf } from "../../../../src/engine/model/names.ts";
import type { Storage } from "../../../../src/engine/storage/ports.ts";
import type { AboutService } from "../../../../src/engine/storage/queuePort.ts";
import { clientWorld, names } from "../../../../test/client/clientWorld.ts";
import { diagnose } from "../../doctor/diagnose.ts";

async function examined(
  change: (storage: Storage) => Storage = (same) => same,
  before?: (storage: Storage) => Promise<unknown>,
) {
  const { world, storage, clientOn } = await clientWorld();
  const run = async () => {
    await before?.(storage);
    return diagnose({
      env: {},
      ofApp: false,
      hostJson: undefined,
      storage: { namedBy: "a test", connect: async () => clientOn(change(storage)) },
    });
  };
  return world.finish(run());
}
const bad = (findings: Awaited<ReturnType<typeof examined>>) =>
  findings.filter(({ state }) => state === "wrong" || state === "warning");

const denied = (): Promise<never> =>
  Promise.reject(new StorageError("denied", "AuthorizationPermissionMismatch", 403, "no"));
const about =
  (facts: Partial<Awaited<ReturnType<AboutService["facts"]>>>, versioned?: boolean) =>
  (storage: Storage) => ({
    ...storage,
    about: { facts: async () => ({ server: "S", ...facts }), versioned: async () => versioned },
  });

test("a fresh account has no findings, and the checks leave nothing behind", async () => {
  let left: readonly string[] = ["?"];
  const findings = await examined(
    (storage) => storage,
    async (storage) => {
      left = (await storage.blobs.list(names.runs, "")).blobs.map(({ name }) => name);
    },
  );
  expect(bad(findings)).toEqual([]);
  expect([...new Set(findings.map(({ check }) => check))]).toEqual([
    ...["settings", "host", "storage", "roles", "queues", "leader"],
  ]);
  expect(left).toEqual([]);
});

test("a missing right is reported with the role and the command that grants it", async () => {
  const findings = await examined((storage) => ({
    ...storage,
    blobs: {
      ...storage.blobs,
      replace: (container, ...rest) =>
        container === names.results ? denied() : storage.blobs.replace(container, ...rest),
    },
    queues: {
      ...storage.queues,
      update: (queue, ...rest) => (queue === names.packs ? denied() : storage.queues.update(queue, ...rest)),
    },
  }));
  expect(bad(findings)).toMatchObject([
    {
      what: "this identity may not write the container test-results",
      why: 'an app needs the role "Storage Blob Data Contributor" there',
    },
    {
      what: "this identity may not take and update messages of the queue test-packs",
      cure: expect.stringContaining('"Storage Queue Data Contributor"'),
    },
  ]);
  expect(bad(findings)[0]?.cure).toContain("blobServices/default/containers/test-results");
});

test("missing containers and queues are reported in one warning", async () => {
  const { world, storage, clientOn } = await clientWorld({ places: false });
  const connect = async () => clientOn(storage);
  const findings = await world.finish(
    diagnose({ env: {}, ofApp: false, hostJson: undefined, storage: { namedBy: "a test", connect } }),
  );
  expect(bad(findings)).toHaveLength(1);
  expect(bad(findings)[0]).toMatchObject({ state: "warning", check: "roles" });
  for (const name of Object.values(names)) expect(bad(findings)[0]?.what).toContain(name);
});

test("containers and queues that the app has not needed yet are no warning after its first tick", async () => {
  const { world, storage, clientOn } = await clientWorld({ places: false });
  await storage.blobs.ensureContainer(names.coordination);
  const connect = async () => clientOn(storage);
  const findings = await world.finish(
    diagnose({ env: {}, ofApp: false, hostJson: undefined, storage: { namedBy: "a test", connect } }),
  );
  expect(bad(findings)).toEqual([]);
  expect(findings).toContainEqual(
    expect.objectContaining({ state: "skipped", what: expect.stringContaining(`${names.packs}, `) }),
  );
});

test.each([
  [about({ softDeleteDays: 8 }), "warning", "blob soft delete is on (8 days)"],
  [about({ softDeleteDays: 0 }, true), "warning", "blob versioning is on"],
])("account: %#", async (change, state, what) => {
  expect(bad(await examined(change))).toMatchObject([{ state, what }]);
});

test("the protection that the templates switch on is no warning", async () => {
  const template = readFileSync(
    join(import.meta.dirname, "../../../../infra/modules/dataStorage.bicep"),
    "utf8",
  );
  const days = /deleteRetentionPolicy: \{\s+enabled: true\s+days: (\d+)/.exec(template)?.[1];
  const findings = await examined(about({ softDeleteDays: Number(days) }));
  expect(bad(findings)).toEqual([]);
  expect(findings).toContainEqual(
    expect.objectContaining({
      state: "ok",
      what: `what was deleted or overwritten can be restored for ${days} days`,
    }),
  );
});

test.each([
  [1_000, "ok"],
  [-60_000, "warning"],
  [600_000, "wrong"],
])("a clock that is %i ms off is %s", async (offMs, state) => {
  const { world, storage, client, clientOn } = await clientWorld();
  const on = clientOn(about({ dateMs: client.clock.wallMs() - offMs })(storage));
  const findings = await world.finish(
    diagnose({
      env: {},
      ofApp: false,
      hostJson: undefined,
      storage: { namedBy: "a test", connect: async () => on },
    }),
  );
  expect(findings.find(({ check }) => check === "clock")).toMatchObject({ state });
});

test("poison messages and messages of other programs are reported", async () => {
  const findings = await examined(
    (storage) => storage,
    async ({ queues }) => {
      await queues.send(poisonOf(names.packs), "{}");
      await queues.send(names.urgent, "eyJ2IjoxfQ==");
    },
  );
  expect(
    bad(findings)
      .map(({ state, what }) => `${state}: ${what}`)
      .sort(),
  ).toEqual([
    "warning: test-packs-poison holds 1 message",
    "wrong: test-urgent holds a message that is not JSON: eyJ2IjoxfQ==",
  ]);
});

test("open runs are wrong if nobody has ever led", async () => {
  const findings = await examined(
    (storage) => storage,
    ({ blobs }) => blobs.create(names.active, "r", ""),
  );
  expect(bad(findings)).toMatchObject([{ check: "leader", what: expect.stringContaining("1 run is open") }]);
});

test.each([
  ["InvalidHeaderValue", "refused", "Azurite-Blob/3.37.0", "--skipApiVersionCheck"],
  ["InvalidHeaderValue", "refused", "Windows-Azure-Blob/1.0", "--account"],
  ["AuthorizationFailure", "denied", "", "network"],
  ["KeyBasedAuthenticationNotPermitted", "denied", "", "--account"],
  ["", "busy", "", "emulator"],
] as const)("storage that answers %j is explained: %s by %s", async (code, kind, server, cure) => {
  const cause = { response: { headers: new Headers({ server }) } };
  const connect = () => Promise.reject(new StorageError(kind, code, 400, "said so", cause));
  const findings = await diagnose({
    env: {},
    ofApp: false,
    hostJson: undefined,
    storage: { namedBy: "a test", connect },
  });
  expect(bad(findings)).toMatchObject([
    { check: "storage", what: "said so", cure: expect.stringContaining(cure) },
  ]);
});

test("a programming error is thrown and not turned into a finding", async () => {
  const connect = () => Promise.reject(new TypeError("oops"));
  await expect(
    diagnose({ env: {}, ofApp: false, hostJson: undefined, storage: { namedBy: "a test", connect } }),
  ).rejects.toThrow("oops");
});

test("runs in flight are told of, before an upgrade that changes their documents", async () => {
  const told = async (before?: (storage: Storage) => Promise<unknown>) =>
    (await examined((same) => same, before))
      .filter(({ what }) => what.includes("in flight"))
      .map(({ what }) => what);
  expect(await told()).toEqual(["no run is in flight"]);
  const marker = { v: "1", uid: "u", want: "run", generation: "1", cap: "1", turn: "0", command: "0" };
  expect(await told((storage) => storage.blobs.create(names.active, "r", "", { metadata: marker }))).toEqual([
    "1 run is in flight: an upgrade that changes its documents has to wait (docs/OPERATIONS.md)",
  ]);
});
