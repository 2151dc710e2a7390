import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { routes } from "../../../src/app/api/routes.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import { systemClock } from "../../../src/engine/storage/system.ts";
import { calculations, clientWorld } from "../../../test/client/clientWorld.ts";
import { localCode } from "../../../test/support/localCode.ts";
import type { Cli } from "../cli.ts";
import { runCommand } from "../program.ts";
import { addUi } from "../ui/ui.ts";
import { instancesOf, printed } from "./cliWorld.ts";

const home = mkdtempSync(join(tmpdir(), "leasefold-ui-"));
const running: (() => Promise<number>)[] = [];
afterEach(async () => void (await Promise.all(running.splice(0).map((stop) => stop()))));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** A running `leasefold ui` on in-memory storage. */
async function startUi(line = "", change: Partial<Cli> = {}, { tty = true } = {}) {
  const world = await clientWorld();
  const [out, err] = [printed({ tty }), printed()];
  const told = Promise.withResolvers<void>();
  const controller = new AbortController();
  const cli: Cli = {
    ...{ env: { XDG_STATE_HOME: home, HOME: home }, folder: home, err, clock: systemClock },
    out: { ...out, write: (text) => out.write(text).then(told.resolve) },
    signal: controller.signal,
    connect: async () => world.client,
    calculations: async () => calculations,
    instances: async () => undefined,
    startThread: async () => localCode(calculations),
    ...change,
  };
  const ended = runCommand(["ui", ...line.split(" ").filter(Boolean)], cli, [addUi]);
  const stop = (): Promise<number> => {
    controller.abort(new DOMException("SIGINT", "AbortError"));
    return ended;
  };
  running.push(stop);
  await Promise.race([told.promise, ended]);
  const { origin, pathname, hash } = new URL(/http:[^"\s]+/.exec(out.text())?.[0] ?? "http://none");
  const token = hash.replace("#token=", "");
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`${origin}/api/${path}`, { ...init, headers: { "x-functions-key": token, ...init.headers } });
  return { ...world, ...{ out, err, ended, stop, origin, pathname, token, ask } };
}

/** A request with headers that `fetch` would not send. */
const raw = (origin: string, method: string, path: string, headers: Record<string, string>) =>
  new Promise<number>((resolve, reject) => {
    const sent = request(`${origin}${path}`, { method, headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    sent.once("error", reject).end();
  });

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

describe("leasefold ui", () => {
  it("prints one address, whose token opens the same API that the app has", async () => {
    const { out, origin, pathname, token, client, ask } = await startUi();
    expect(out.text()).toBe(`${origin}/api/ui#token=${token}\n`);
    expect([new URL(origin).hostname, pathname, token]).toEqual([
      "127.0.0.1",
      "/api/ui",
      expect.stringMatching(/^[\w-]{32}$/),
    ]);
    const body = JSON.stringify({ calculation: "sum", params: { to: 10 }, id: "r1" });
    const headers = { "content-type": "application/json" };
    const submitted = await ask("runs", { method: "POST", headers, body });
    expect([submitted.status, submitted.headers.get("location")]).toEqual([202, "/api/runs/r1"]);
    expect(await (await ask("runs")).json()).toMatchObject({ runs: [{ run: "r1" }] });
    const planned = await ask("plan", {
      method: "POST",
      headers,
      body: JSON.stringify({ calculation: "sum", params: { to: 10 } }),
    });
    expect(await planned.json()).toMatchObject({ chunks: 10 });
    expect(await (await ask("instance")).json()).toMatchObject({ instance: "leasefold ui", readOnly: false });
    expect((await ask("runs?limit=1&limit=2")).headers.get("content-security-policy")).toContain("sandbox");
    expect(client.names.runs).toBe("test-runs");
  });

  it("answers 304 to who knows the state of a run, and HEAD without a body", async () => {
    const { client, ask } = await startUi();
    await submit(client, { calculation: "sum", params: { to: 1 }, id: "r1" });
    const etag = (await ask("runs/r1")).headers.get("etag") ?? "";
    const again = await ask("runs/r1", { headers: { "if-none-match": etag } });
    expect([again.status, again.headers.get("etag"), await again.text()]).toEqual([304, etag, ""]);
    const head = await ask("runs/r1", { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  it("asks for its token on every method of every route that gives or changes data", async () => {
    const { origin, storage, token } = await startUi();
    const before = storage.meter.counts();
    const withData = routes.filter(({ anonymous }) => anonymous !== true);
    const paths = withData.map(({ route }) => route.replace(/\{\w+\}/, "r1"));
    for (const path of new Set([...paths, "runs/r1/none", "queues/r1/none"])) {
      for (const method of methods) {
        for (const key of [undefined, "", "wrong", `${token}x`]) {
          const headers = key === undefined ? {} : { "x-functions-key": key };
          expect([path, method, await raw(origin, method, `/api/${path}`, headers)]).toEqual([
            path,
            method,
            401,
          ]);
        }
      }
    }
    for (const path of ["ui", "ui/app.js", "health"])
      expect(await raw(origin, "POST", `/api/${path}`, {})).toBe(405);
    expect(storage.meter.counts()).toEqual(before);
  });

  it("refuses foreign hosts and pages on every method, with the token too", async () => {
    const { origin, token, storage } = await startUi();
    const { port } = new URL(origin);
    const before = storage.meter.counts();
    const key = { "x-functions-key": token };
    const cases: readonly (readonly [Record<string, string>, number])[] = [
      [{ host: "evil.example" }, 421],
      [{ host: `127.0.0.1.evil.example:${port}` }, 421],
      [{ origin: "https://evil.example" }, 403],
      [{ origin: "null" }, 403],
      [{ origin: "http://127.0.0.1:1" }, 403],
      [{ "sec-fetch-site": "cross-site" }, 403],
      [{ "sec-fetch-site": "same-site" }, 403],
    ];
    for (const [headers, status] of cases) {
      for (const method of methods) {
        for (const path of ["/api/runs", "/api/runs/r1", "/api/ui", "/api/health"])
          expect([headers, method, path, await raw(origin, method, path, { ...key, ...headers })]).toEqual([
            ...[headers, method, path, status],
          ]);
      }
    }
    expect(storage.meter.counts()).toEqual(before);
    expect(await raw(origin, "GET", "/api/runs", { ...key, origin, "sec-fetch-site": "same-origin" })).toBe(
      200,
    );
  });

  it("--read-only shows everything and changes nothing", async () => {
    const { client, storage, ask } = await startUi("--read-only");
    await submit(client, { calculation: "sum", params: { to: 1 }, id: "r1" });
    const { write, queue } = storage.meter.counts();
    for (const { method, route } of routes.filter(({ method }) => method !== "GET")) {
      const answer = await ask(route.replace("{id}", "r1"), { method });
      expect([route, answer.status, await answer.json()]).toEqual([
        route,
        403,
        expect.objectContaining({ code: "read-only" }),
      ]);
    }
    expect((await ask("runs/r1")).status).toBe(200);
    expect(await (await ask("instance")).json()).toMatchObject({ readOnly: true });
    expect(storage.meter.counts()).toMatchObject({ write, queue });
  });

  it("submits to and plans on local instances what only they know, and never loads a file for a page", async () => {
    const asked: unknown[] = [];
    const mine = { name: "mine", summary: "its own", params: [], schema: {}, code: "mine@1" };
    const { ask } = await startUi("", {
      instances: instancesOf({
        calculations: async () => [mine],
        submit: async (calculation, params) => {
          asked.push({ calculation, params });
          return { submitted: { run: "r9", uid: "u", created: true, woken: true } } as never;
        },
        plan: async (sent) => {
          asked.push(sent);
          return { chunks: 7 } as never;
        },
      }),
    });
    const post = (path: string, body: object) =>
      ask(path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const listed = (await (await ask("calculations")).json()) as { calculations: { name: string }[] };
    expect(listed.calculations.map(({ name }) => name)).toEqual(["sum", "mine"]);
    expect(await (await post("runs", { calculation: "mine", params: { a: 1 } })).json()).toMatchObject({
      run: "r9",
    });
    expect(await (await post("plan", { calculation: "mine" })).json()).toEqual({ chunks: 7 });
    expect(asked).toEqual([{ calculation: "mine", params: { a: 1 } }, { calculation: "mine" }]);
    for (const calculation of ["./evil.ts", "/etc/passwd.js", "..\\x.mjs"])
      expect(await (await post("runs", { calculation })).json()).toMatchObject({
        code: "unknown-calculation",
      });
  });

  it("--open leads the browser through a file that only this user can read, and removes it", async () => {
    let seen: { readonly path: string; readonly text: string; readonly mode: number } | undefined;
    const opened = Promise.withResolvers<void>();
    const { origin, token, stop } = await startUi("--open", {
      openFile: async (path) => {
        seen = { path, text: readFileSync(path, "utf8"), mode: statSync(path).mode & 0o777 };
        opened.resolve();
      },
    });
    await opened.promise;
    expect(seen?.text).toContain(`url=${origin}/api/ui#token=${token}`);
    if (process.platform !== "win32") expect(seen?.mode).toBe(0o600);
    expect(await stop()).toBe(130);
    expect(() => statSync(seen?.path ?? "")).toThrow(/ENOENT/);
  });

  it("goes on where no browser can be opened", async () => {
    const failed = Promise.withResolvers<void>();
    const { ask, err } = await startUi("--open", {
      openFile: () => {
        failed.resolve();
        return Promise.reject(new Error("spawn xdg-open ENOENT"));
      },
    });
    await failed.promise;
    expect((await ask("health")).status).toBe(200);
    expect(err.text().split("\n").slice(1).join("\n")).toBe(
      "no browser could be opened; open the address yourself (spawn xdg-open ENOENT)\n",
    );
  });

  it("ends with Ctrl-C, and its port with it", async () => {
    const { origin, stop } = await startUi();
    expect(await stop()).toBe(130);
    await expect(fetch(`${origin}/api/health`)).rejects.toThrow();
  });

  it("refuses a port in use, and does not start without storage", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as AddressInfo;
    const taken = await startUi(`--port ${port}`);
    expect(await taken.ended).toBe(2);
    expect(taken.err.text()).toBe(`leasefold: invalid --port: ${port}: the port is in use\n`);
    other.close();
    const away = await startUi("", { connect: () => Promise.reject(new Error("no storage")) });
    expect([await away.ended, away.out.text()]).toEqual([70, ""]);
    expect(await (await startUi("--port 0")).ended).toBe(2);
  });

  it("prints no token where standard output is no terminal, because a log would keep it", async () => {
    const { out, err, origin, ask } = await startUi("", {}, { tty: false });
    expect(out.text()).toBe(`${origin}/api/ui\n`);
    expect(err.text()).toMatch("--json gives it");
    expect((await ask("runs")).status).toBe(401);
  });

  it("--json prints address and port for programs", async () => {
    const { out } = await startUi("--json");
    expect(JSON.parse(out.text())).toEqual({
      address: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/api\/ui#token=/),
      port: expect.any(Number),
    });
  });
});
