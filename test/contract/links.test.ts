import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import type { Storage } from "../../src/engine/storage/ports.ts";

/**
 * Links on an emulator with https and tokens. It checks signatures, times and the right to read. It takes every token for one that may
 * ask for a key, and ignores the name under which a link is saved: what Azure refuses without the role is not checked here.
 */
const folder = mkdtempSync(join(tmpdir(), "leasefold-links-"));
const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
const ofFlags = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=leasefold"];
const hasOpenSsl = spawnSync("openssl", ["version"]).status === 0;

/** Nobody signs it, and the emulator reads only what it says. */
function token(nowS = Math.floor(Date.now() / 1_000)): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const tid = "00000000-0000-0000-0000-000000000001";
  const claims = {
    ...{ aud: "https://storage.azure.com", iss: `https://sts.windows.net/${tid}/`, tid },
    ...{ oid: "00000000-0000-0000-0000-000000000002", iat: nowS - 60, nbf: nowS - 60, exp: nowS + 3_600 },
  };
  return `${part({ alg: "none", typ: "JWT" })}.${part(claims)}.${Buffer.from("x").toString("base64url")}`;
}

describe.skipIf(!hasOpenSsl)("a link to a blob", () => {
  let emulator: ChildProcess;
  let storage: Storage;
  let base = "";
  beforeAll(async () => {
    execFileSync(
      "openssl",
      [...ofFlags, "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
      {
        stdio: "ignore",
      },
    );
    setDefaultCACertificates([...getCACertificates(), readFileSync(cert, "utf8")]);
    const manifest = createRequire(import.meta.url).resolve("azurite/package.json");
    const { bin } = JSON.parse(readFileSync(manifest, "utf8"));
    const flags = [
      "--oauth",
      "basic",
      "--cert",
      cert,
      "--key",
      key,
      "--blobPort",
      "0",
      "--inMemoryPersistence",
    ];
    const script = join(dirname(manifest), bin["azurite-blob"]);
    // It checks the version of the API: what the SDK sends by itself is newer than it knows.
    emulator = spawn(process.execPath, [script, ...flags, "--disableTelemetry"], {
      env: { ...process.env, AZURITE_ACCOUNTS: `links:${Buffer.from("any").toString("base64")}` },
    });
    const port = await new Promise<string>((resolve, reject) => {
      let printed = "";
      // Reading goes on: a closed pipe would end the emulator.
      emulator.stdout?.on("data", (text) => {
        printed += text;
        const found = /successfully list\w+ (?:at|on) \S+:(\d+)/.exec(printed)?.[1];
        if (found !== undefined) resolve(found);
      });
      emulator.once("exit", () => reject(new Error(printed)));
    });
    base = `https://127.0.0.1:${port}/links`;
    storage = connectStorage({
      ...{ blobServiceUri: base, queueServiceUri: base },
      credential: { getToken: async () => ({ token: token(), expiresOnTimestamp: Date.now() + 3_600_000 }) },
      storageHost: "127.0.0.1",
    });
    await storage.blobs.ensureContainer("results");
    await storage.blobs.create("results", "r1/u/001/a/result.json", "4950");
    await storage.blobs.create("results", "r1/u/001/a/other.json", "other");
  });
  afterAll(async () => {
    emulator.kill();
    if (emulator.exitCode === null) await once(emulator, "exit");
    await rm(folder, { recursive: true });
  });

  const nowMs = Math.floor(Date.now() / 1_000) * 1_000;
  const linkTo = async (untilMs = nowMs + 900_000, from = nowMs): Promise<string> =>
    (await storage.linkTo?.("results", "r1/u/001/a/result.json", {
      ...{ nowMs: from, untilMs },
      fileName: "r1.json",
    })) ?? expect.fail();

  it("says what is signed: to read one blob, over https, until then, under a name", async () => {
    const { origin, pathname, searchParams: signed } = new URL(await linkTo());
    expect(origin + pathname).toBe(`${base}/results/r1/u/001/a/result.json`);
    const iso = (ms: number) => new Date(ms).toISOString().replace(".000", "");
    expect(Object.fromEntries(signed)).toMatchObject({
      ...{ sp: "r", sr: "b", spr: "https", st: iso(nowMs - 300_000), se: iso(nowMs + 900_000) },
      ...{ sv: "2025-07-05" },
      ...{ rscd: 'attachment; filename="r1.json"', skoid: "00000000-0000-0000-0000-000000000002" },
    });
    expect([...signed.keys()].filter((name) => ["si", "sip", "ss", "srt"].includes(name))).toEqual([]);
  });

  it("reads that blob without a sign-in, in ranges too", async () => {
    const link = await linkTo();
    expect(await (await fetch(link)).text()).toBe("4950");
    const part = await fetch(link, { headers: { range: "bytes=1-2" } });
    expect([part.status, await part.text()]).toEqual([206, "95"]);
  });

  it.each([
    [
      "a write",
      (link: string) => fetch(link, { method: "PUT", body: "1", headers: { "x-ms-blob-type": "BlockBlob" } }),
    ],
    ["a deletion", (link: string) => fetch(link, { method: "DELETE" })],
    ["another blob", (link: string) => fetch(link.replace("result.json", "other.json"))],
    ["a later end", (link: string) => fetch(link.replace(/se=\d{4}/, "se=2099"))],
    ["no signature", (link: string) => fetch(link.replace(/&sig=[^&]*/, ""))],
  ])("is refused for %s", async (_what, ask) => {
    expect((await ask(await linkTo())).status).toBeGreaterThanOrEqual(400);
    expect(await (await fetch(await linkTo())).text()).toBe("4950");
  });

  it("is refused once it has ended", async () => {
    const before = nowMs - 3_000_000;
    expect((await fetch(await linkTo(before + 900_000, before))).status).toBe(403);
  });
});
