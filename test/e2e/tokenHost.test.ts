import { execFile, execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer as createProxy } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

/**
 * The built command against an HTTPS server of somebody else, whose certificate it trusts. `az` is a script that gives a false token of
 * the user: whatever the server receives with it, a real one would have received with a real token.
 */
const hasOpenSsl = spawnSync("openssl", ["version"]).status === 0;
const program = join(import.meta.dirname, "../../bin/leasefold.js");

describe.skipIf(!hasOpenSsl)("the token of the user who is signed in", () => {
  let folder = "";
  let server: Server;
  let address = "";
  const received: string[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "leasefold-token-"));
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const flags = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"];
    const names = ["-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", cert];
    execFileSync("openssl", [...flags, ...names], { stdio: "ignore" });
    for (const one of ["bin", "cloned", "state", "run"]) await mkdir(join(folder, one), { mode: 0o700 });
    const endMs = Date.now() + 3_600_000;
    const token = {
      ...{ accessToken: "FALSE-TOKEN", tokenType: "Bearer", subscription: "s", tenant: "t" },
      ...{ expiresOn: new Date(endMs).toISOString(), expires_on: Math.floor(endMs / 1_000) },
    };
    await writeFile(join(folder, "bin/az"), `#!/bin/sh\nprintf '%s' '${JSON.stringify(token)}'\n`);
    await chmod(join(folder, "bin/az"), 0o755);
    server = createServer({ key: await readFile(key), cert: await readFile(cert) }, (request, response) => {
      received.push(`${request.method} ${request.headers.authorization}`);
      request.resume();
      const headers = { "x-ms-error-code": "BlobNotFound", "x-ms-request-id": "1" };
      response.writeHead(404, { ...headers, date: new Date().toUTCString() }).end();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    address = `https://localhost:${(server.address() as AddressInfo).port}`;
    const values = { DataStorage__blobServiceUri: address, DataStorage__queueServiceUri: address };
    const settings = JSON.stringify({ IsEncrypted: false, Values: values });
    await writeFile(join(folder, "cloned/local.settings.json"), settings);
  });
  beforeEach(() => void received.splice(0));
  afterAll(async () => {
    server?.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Runs a command in the cloned folder, as a user who is signed in by the Azure CLI. */
  function leasefold(args: readonly string[], more: Readonly<Record<string, string>> = {}) {
    const own = Object.entries(process.env).filter(
      ([name]) => !/^(LEASEFOLD|DataStorage|AzureWebJobs|AZURE_|MSI_|IDENTITY_)/.test(name),
    );
    const env = {
      ...{ ...Object.fromEntries(own), NODE_EXTRA_CA_CERTS: join(folder, "cert.pem") },
      ...{
        PATH: `${join(folder, "bin")}:${process.env["PATH"]}`,
        AZURE_TOKEN_CREDENTIALS: "AzureCliCredential",
      },
      ...{ XDG_STATE_HOME: join(folder, "state"), XDG_RUNTIME_DIR: join(folder, "run"), ...more },
    };
    const options = { cwd: join(folder, "cloned"), env, timeout: 120_000 };
    return new Promise<{ code: number; out: string }>((resolve) => {
      execFile(process.execPath, [program, ...args], options, (error, out, err) =>
        resolve({ code: error === null ? 0 : Number(error.code), out: out + err }),
      );
    });
  }
  const named = () => ({ DataStorage__blobServiceUri: address, DataStorage__queueServiceUri: address });

  it("goes to no host that a settings file in a cloned folder names, and doctor says so", async () => {
    const { out } = await leasefold(["doctor"]);
    expect(received).toEqual([]);
    expect(out).toContain("local.settings.json names a storage, which is contacted only on request");
    expect(out).toContain("localhost is no blob endpoint of Azure Storage");
  });

  it.each([
    ["a settings file that the user names", ["doctor", "--settings", "local.settings.json"], false],
    ["the environment", ["doctor"], true],
    ["the environment of another command", ["runs"], true],
    ["the environment of a worker", ["work", "--idle", "1s"], true],
  ])("goes to no host outside of Azure Storage, though %s names it", async (_what, args, inShell) => {
    const { code, out } = await leasefold(args, inShell ? named() : {});
    expect(received).toEqual([]);
    expect(code).toBeGreaterThan(0);
    expect(out).toContain("localhost is no blob endpoint of Azure Storage");
  });

  it("goes through no proxy that a file of a cloned folder names, and through that of the environment", async () => {
    const seen: string[] = [];
    const proxy = createProxy((_request, response) => response.writeHead(502).end());
    proxy.on("request", ({ url }) => seen.push(`${url}`));
    proxy.on("connect", ({ url }, socket) => {
      seen.push(`${url}`);
      socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    });
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const uri = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const names = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"];
    const settings = { ...Object.fromEntries(names.map((name) => [name, uri])), NODE_USE_ENV_PROXY: "1" };
    const lines = Object.entries(settings).map((one) => one.join("="));
    const storage = Object.fromEntries(
      ["blob", "queue"].map((one) => [
        `DataStorage__${one}ServiceUri`,
        `https://none.${one}.core.windows.net`,
      ]),
    );
    const files = {
      ".env": lines.join("\n"),
      ".npmrc": `https-proxy=${uri}\nproxy=${uri}\nnoproxy=\n`,
      "node.config.json": JSON.stringify({ nodeOptions: { "use-env-proxy": true } }),
      "package.json": JSON.stringify({
        name: "cloned",
        proxy: uri,
        config: { proxy: uri },
        leasefold: settings,
      }),
      "proxied.json": JSON.stringify({ Values: { ...settings, ...storage } }),
    };
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, "cloned", name), text);
    try {
      const unset = Object.fromEntries(names.map((name) => [name, ""]));
      for (const args of [
        ["runs", "--account", "none"],
        ["work", "--account", "none", "--idle", "1s"],
        ["doctor", "--settings", "proxied.json"],
      ]) {
        await leasefold(args, unset);
        expect(seen, args.join(" ")).toEqual([]);
      }
      await leasefold(["runs", "--account", "none"], { ...unset, HTTPS_PROXY: uri });
      expect(seen).toContain("none.blob.core.windows.net:443");
    } finally {
      proxy.close();
      for (const name of Object.keys(files)) await rm(join(folder, "cloned", name));
    }
  });

  it("goes to a host that --storage-host allows", async () => {
    await leasefold(["doctor", "--settings", "local.settings.json", "--storage-host", "localhost"]);
    expect(received).toContainEqual(expect.stringMatching(/^(GET|HEAD) Bearer FALSE-TOKEN$/));
  });
});
