import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { command } from "../../src/engine/client/commands/command.ts";
import { readMarker, readSpec } from "../../src/engine/client/runDocuments.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import { runIdPattern } from "../../src/engine/model/names.ts";
import { specSchema } from "../../src/engine/model/run.ts";
import { specBlob } from "../../src/engine/model/runBlobs.ts";
import { specOf } from "../support/runFixtures.ts";
import { clientWorld, failureOf, leadsOn, names } from "./clientWorld.ts";
import { Crash, crashingStorage } from "./crashingStorage.ts";

const request = { calculation: "sum", params: { to: 100 }, id: "r1" };

describe("submitting a run", () => {
  it("writes spec, marker and two wakes, and draws a readable id", async () => {
    const { client, world, wakes } = await clientWorld();
    const submitted = await submit(client, { calculation: "sum", params: { to: 100 }, cap: 7 });
    expect(submitted).toMatchObject({ created: true, woken: true });
    expect(submitted.run).toMatch(/^sum-20300101-[a-z2-9]{6}$/);
    expect(submitted.run).toMatch(runIdPattern);
    expect(submitted.uid).toMatch(/^[a-z0-9]{12}$/);
    const spec = await readSpec(client, submitted.run);
    expect(spec?.value).toMatchObject({
      v: 1,
      uid: submitted.uid,
      calculation: "sum",
      params: { to: 100, label: "none", exact: false, maxSize: 10 },
    });
    const { uid } = submitted;
    const marker = await readMarker(client, submitted.run);
    const stored = await client.storage.blobs.read(names.runs, specBlob(submitted.run));
    const bytes = stored.kind === "found" ? stored.body : "";
    const hashed = createHash("sha256").update(bytes).digest("hex");
    expect(marker?.value).toEqual({
      uid,
      spec: hashed,
      want: "run",
      generation: 1,
      cap: 7,
      turn: 0,
      command: 0,
    });
    expect(await client.storage.queues.peek(names.wake, 32)).toHaveLength(1);
    await world.advance(5_001);
    expect(await client.storage.queues.peek(names.wake, 32)).toHaveLength(2);
    expect(await wakes()).toBe(2);
  });

  it("refuses a spec that replaced that of its own earlier try", async () => {
    const { client, storage } = await clientWorld();
    const create: typeof storage.blobs.create = async (container, name, body, options) => {
      const created = await storage.blobs.create(container, name, body, options);
      if (name !== specBlob("r1")) return created;
      // The reply was lost, and somebody wrote before the repeated call.
      const spec = specSchema.parse(JSON.parse(String(body)));
      const forged = specOf({ ...spec, params: { ...Object(spec.params), to: 5 } });
      storage.operator.overwriteBlob(container, name, JSON.stringify(forged));
      return { kind: "existed" };
    };
    const replaced = { ...client, storage: { ...storage, blobs: { ...storage.blobs, create } } };
    expect(await failureOf(submit(replaced, request))).toMatchObject({ code: "id-taken" });
    expect(await readMarker(client, "r1")).toBeUndefined();
  });

  it("creates the containers and queues before anything was started", async () => {
    const { client, wakes } = await clientWorld({ places: false });
    expect(await submit(client, request)).toMatchObject({ run: "r1", created: true, woken: true });
    expect(await wakes()).toBe(2);
  });

  it("draws another id if the drawn one is taken", async () => {
    const first = await clientWorld({ seed: 3 });
    const drawn = await submit(first.client, { calculation: "sum", params: { to: 1 } });
    const second = await clientWorld({ seed: 3 });
    await submit(
      { ...second.client, random: { uuid: () => "", number: () => 0.5 } },
      { ...request, id: drawn.run },
    );
    const other = await submit(second.client, { calculation: "sum", params: { to: 1 } });
    expect(other).toMatchObject({ created: true });
    expect(other.run).not.toBe(drawn.run);
  });

  it("makes one run for the same id and request, for any order of keys and any cap", async () => {
    const { client } = await clientWorld();
    const first = await submit(client, { ...request, params: { to: 100, label: "x" } });
    const again = await submit(client, { ...request, params: { label: "x", to: 100, exact: false }, cap: 3 });
    expect(again).toEqual({ ...first, created: false, phase: "waiting" });
  });

  it("says which cap holds: the given one, of an existing run that of its last change, of an ended run none", async () => {
    const { client, putState } = await clientWorld();
    const first = await submit(client, { ...request, cap: 7 });
    expect(first).toMatchObject({ created: true, cap: 7 });
    expect(await submit(client, { ...request, cap: 3 })).toMatchObject({ created: false, cap: 7 });
    await command(client, "r1", { kind: "cap", cap: 9 });
    expect(await submit(client, { ...request, cap: 7 })).toMatchObject({ created: false, cap: 9 });
    await putState(first, { phase: "complete" });
    expect((await submit(client, { ...request, cap: 3 })).cap).toBeUndefined();
  });

  it.each([
    ["parameters", { params: { to: 101 } }, "params differ in to"],
    ["pack size", { packSize: 5 }, "packSize is not set, in this request 5"],
    ["tolerance", { tolerate: { chunks: 1 } }, 'tolerate is not set, in this request {"chunks":1}'],
    ["pack limit", { packLimitMs: 5 }, "packLimitMs is not set, in this request 5"],
    ["attempts", { attempts: 5 }, "attempts is 2, in this request 5"],
    ["no attempts", { attempts: undefined }, "attempts is 2, in this request not set"],
    ["deadline", { deadline: { ms: 5 } }, 'deadline is not set, in this request {"ms":5,"keep":false}'],
  ])(
    "refuses the same id with other %s as a conflict, and says what differs",
    async (_what, change, told) => {
      const { client } = await clientWorld();
      const given = { ...request, attempts: 2 };
      await submit(client, given);
      const error = await failureOf(submit(client, { ...given, ...change }));
      expect(error).toMatchObject({ reason: "conflict", code: "id-taken", details: { field: "id" } });
      expect((error as Error).message).toBe(`id: r1 is the id of a run with another request; ${told}`);
    },
  );

  it("says which time limit of an attempt holds: that of the app if it is less, and none where it is not known", async () => {
    const { client, storage } = await clientWorld();
    const heldOf = async (id: string, packLimitMs?: number) =>
      (await submit(client, { ...request, id, ...(packLimitMs === undefined ? {} : { packLimitMs }) }))
        .packLimitMs;
    expect(await heldOf("r1", 400_000)).toBeUndefined();
    await leadsOn(storage, { about: { LEASEFOLD_KEEP_DAYS: "1" } });
    expect(await heldOf("r1", 400_000)).toBeUndefined();
    await leadsOn(storage, { about: { LEASEFOLD_PACK_LIMIT_S: "60" } });
    expect([await heldOf("r1", 400_000), await heldOf("r2", 7_000), await heldOf("r3")]).toEqual([
      60_000,
      7_000,
      undefined,
    ]);
  });

  it("writes the limits of the request into the spec, and none without any", async () => {
    const { client } = await clientWorld();
    await submit(client, { ...request, packLimitMs: 7, attempts: 3, deadline: { ms: 9 } });
    const limited = { packLimitMs: 7, attempts: 3, deadline: { ms: 9, keep: false } };
    expect((await readSpec(client, "r1"))?.value).toMatchObject(limited);
    await submit(client, { ...request, id: "r2" });
    const { value } = (await readSpec(client, "r2")) ?? {};
    for (const name of Object.keys(limited)) expect(value).not.toHaveProperty(name);
  });

  it("treats a deadline without `keep` as one with `keep: false`, and one with `keep: true` as another request", async () => {
    const { client } = await clientWorld();
    await submit(client, { ...request, deadline: { ms: 9 } });
    const again = await submit(client, { ...request, deadline: { ms: 9, keep: false } });
    expect(again).toMatchObject({ created: false });
    const kept = submit(client, { ...request, deadline: { ms: 9, keep: true } });
    expect(await failureOf(kept)).toMatchObject({ code: "id-taken" });
  });

  it.each([
    ["other code", { code: "sum@0123456789ab" }],
    ["other parameters as given", { given: { to: 7 } }],
    ["a run to reuse", { reuse: { run: "r0", uid: "u0" } }],
    ["pauses", { retryAfterS: [3_600] }],
    ["a schedule", { schedule: "s" }],
    ["partials that stay", { keepPartials: true as const }],
  ])(
    "does not begin a spec with %s that somebody wrote under its id, though it asks for the same",
    async (_what, change) => {
      const { client, storage } = await clientWorld();
      const { run } = await submit(client, { ...request, id: "honest" });
      const written = (await readSpec(client, run))?.value;
      if (written === undefined) throw new Error("no spec");
      const planted = (id: string, more: object) =>
        storage.blobs.create(
          names.runs,
          specBlob(id),
          JSON.stringify({ ...written, run: id, by: "user:other", ...more }),
        );
      await planted("r1", change);
      const error = await failureOf(submit(client, request));
      expect(error).toMatchObject({
        code: "id-taken",
        message: expect.stringContaining("nobody has begun it"),
      });
      expect(await readMarker(client, "r1")).toBeUndefined();
      // One that broke off after its spec.
      await planted("r2", {});
      expect(await submit(client, { ...request, id: "r2" })).toMatchObject({ uid: written.uid });
    },
  );

  it("makes one run of fifty submits at once and refuses the half with another request", async () => {
    const { client, world } = await clientWorld();
    const tries = Array.from({ length: 50 }, (_one, index) =>
      submit(client, { ...request, params: { to: 100 + (index % 2) } }),
    );
    const settled = await world.finish(Promise.allSettled(tries));
    const accepted = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value.uid] : []));
    const refused = settled.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
    expect([accepted.length, new Set(accepted).size, refused.length]).toEqual([25, 1, 25]);
    for (const reason of refused) expect(reason).toMatchObject({ reason: "conflict", code: "id-taken" });
  });

  it("is completed by any of fifty submits at once after a crash after any of its writes", async () => {
    for (let after = 0; ; after += 1) {
      const { client, clientOn, storage, world, wakes } = await clientWorld({
        seed: after + 1,
        places: false,
      });
      const crashing = crashingStorage(storage, after);
      const outcome = await submit(clientOn(crashing.storage), request).catch((error: unknown) => error);
      if (!(outcome instanceof Crash)) break;
      const before = (await readSpec(client, "r1"))?.value.uid;
      const tries = Array.from({ length: 50 }, () => submit(client, request));
      const all = await world.finish(Promise.all(tries));
      const uid = before ?? all[0]?.uid;
      expect(new Set(all.map((one) => one.uid))).toEqual(new Set([uid]));
      expect(all.filter(({ created }) => created)).toHaveLength(before === undefined ? 1 : 0);
      expect((await readMarker(client, "r1"))?.value.uid).toBe(uid);
      expect(await wakes()).toBeGreaterThanOrEqual(2);
    }
  });

  it("makes one run for any crashes of submits in any order", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(14), { minLength: 1, maxLength: 8 }),
        fc.nat(),
        async (crashes, seed) => {
          const { client, clientOn, storage, world } = await clientWorld({ seed, places: false });
          const tries = crashes.map((after) =>
            submit(clientOn(crashingStorage(storage, after).storage), request),
          );
          const settled = await world.finish(Promise.allSettled(tries));
          const last = await submit(client, request);
          for (const one of settled) {
            if (one.status === "fulfilled") expect(one.value.uid).toBe(last.uid);
            else expect(one.reason).toBeInstanceOf(Crash);
          }
          expect((await readSpec(client, "r1"))?.value.uid).toBe(last.uid);
          expect((await readMarker(client, "r1"))?.value.uid).toBe(last.uid);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("creates no marker for a run that has ended", async () => {
    const { client, storage, putState, wakes } = await clientWorld();
    const first = await submit(client, request);
    await putState(first, { phase: "complete" });
    storage.operator.deleteBlob(names.active, "r1");
    expect(await submit(client, request)).toEqual({
      ...first,
      ...{ created: false, phase: "complete", cap: undefined },
    });
    expect(await readMarker(client, "r1")).toBeUndefined();
    expect(await wakes()).toBe(2);
  });

  it("creates the marker again for a run whose state cannot be read", async () => {
    const { client, storage, putState } = await clientWorld();
    const first = await submit(client, request);
    await putState(first, { sequence: -1 });
    storage.operator.deleteBlob(names.active, "r1");
    await submit(client, request);
    expect((await readMarker(client, "r1"))?.value.uid).toBe(first.uid);
  });

  it("is accepted without its wakes, and reports it, if the wake queue cannot be reached", async () => {
    const { clientOn, storage } = await clientWorld();
    const send = () =>
      Promise.reject(new StorageError("denied", "AuthorizationPermissionMismatch", 403, "no"));
    const client = clientOn({ ...storage, queues: { ...storage.queues, send } });
    expect(await submit(client, request)).toMatchObject({ created: true, woken: false });
  });
});
