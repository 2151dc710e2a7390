import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failureOf } from "../../../test/client/clientWorld.ts";
import { localFileOf, standInSupervisor } from "../../../test/support/standInSupervisor.ts";
import { findInstanceApi } from "../api.ts";
import { bindPort } from "../local/instancePort.ts";
import { type LocalFile, localFilePath, writeLocalFile } from "../local/localFile.ts";

const supervisor = standInSupervisor();
let root: string;
let server: Server;
let asked: IncomingMessage[] = [];
let answer = { status: 200, body: "{}", headers: {} };

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "leasefold-instance-api-"));
  await mkdir(join(root, "runtime"), { mode: 0o700 });
  server = createServer((request, response) => {
    asked.push(request);
    request.resume();
    response.writeHead(answer.status, answer.headers).end(answer.body);
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
});
afterAll(async () => {
  supervisor.kill();
  server.close();
  await rm(root, { recursive: true });
});

/** The API of a stopped instance and one that answers as told. */
async function api(
  status: number,
  body: unknown,
  headers = {},
  watch?: boolean,
  more: LocalFile["instances"] = [],
) {
  asked = [];
  answer = { status, body: JSON.stringify(body), headers };
  const env = { XDG_RUNTIME_DIR: join(root, "runtime") };
  const instances = [
    { name: "node-1", httpUrl: "http://127.0.0.1:1" },
    { name: "node-2" },
    ...more,
    { name: "node-3", httpUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
  ];
  await writeLocalFile(
    await localFilePath(env, root),
    localFileOf(supervisor.pid ?? 0, { instances, watch }),
  );
  const found = await findInstanceApi({}, { env, folder: root });
  if (found === undefined) throw new Error("no instances were found");
  return found;
}

describe("the running instances, asked over HTTP", () => {
  it("the first instance that responds lists its calculations to whoever holds the key", async () => {
    const schema = { type: "object" };
    const params = [
      { name: "to", type: "integer", description: "required" },
      { name: "exact", type: "boolean", default: false, description: "typed" },
      { name: "step", type: "1 | two", description: "listed", values: [1, "two"] },
      { name: "from", type: "integer", default: "0", description: "as an older instance tells it" },
    ];
    const calculations = [{ name: "sum", summary: "adds", params, schema, code: "sum@1" }];
    expect(await (await api(200, { calculations })).calculations()).toEqual(calculations);
    expect(asked.map(({ url, headers }) => [url, headers["x-functions-key"]])).toEqual([
      ["/api/calculations", "key"],
    ]);
  });

  it("an instance that is down gets neither key nor request", async () => {
    const asking: unknown[] = [];
    const thief = createServer((request) => void asking.push(request.headers));
    await new Promise<void>((resolve) => thief.listen(0, "127.0.0.1", resolve));
    const httpUrl = `http://127.0.0.1:${(thief.address() as AddressInfo).port}`;
    const down = { name: "node-4", httpUrl, down: { reason: "exit code 1", ends: 1 } };
    const found = await api(200, { calculations: [] }, {}, undefined, [down]);
    expect(await found.calculations()).toEqual([]);
    expect(asking).toEqual([]);
    thief.close();
  });

  it("an instance that went down since is skipped by its answer", async () => {
    const take = (): boolean => false;
    const port = await bindPort(0, take);
    const gone = { name: "node-4", httpUrl: `http://127.0.0.1:${port.number}` };
    const found = await api(200, { calculations: [] }, {}, undefined, [gone]);
    expect(await found.calculations()).toEqual([]);
    expect(asked).toHaveLength(1);
    port.close();
  });

  it("says whether the instances watch their files", async () => {
    expect((await api(200, {})).watch).toBeUndefined();
    expect((await api(200, {}, {}, true)).watch).toBe(true);
  });

  it("a refused request keeps the message of the instance", async () => {
    const problem = { code: "bad-parameter", detail: "n: must be given", field: "n" };
    const bad = await failureOf((await api(400, problem)).submit("sum"));
    expect(bad).toMatchObject({ reason: "invalid", code: "bad-parameter", message: "n: must be given" });
    const taken = await failureOf((await api(409, problem)).submit("sum"));
    expect(taken).toMatchObject({ reason: "conflict" });
  });

  it("parameters that nest too deep to be sent are refused here", async () => {
    const params = JSON.parse(`{"list":${"[".repeat(100_000)}${"]".repeat(100_000)}}`);
    const found = await api(200, {});
    const run = { calculation: "sum", params };
    for (const call of [
      () => found.submit("sum", params),
      () => found.plan(run),
      () => found.schedules.add({ name: "nightly", cron: "0 2 * * *", run }),
    ]) {
      const refused = await failureOf(call());
      expect(refused).toMatchObject({ code: "bad-parameter", details: { field: "list" } });
      expect(asked).toEqual([]);
    }
  });

  it("a failure or a redirect of an instance is an error, and no other server is called", async () => {
    const failing = await failureOf((await api(500, {})).calculations());
    expect(failing).toMatchObject({ kind: "busy", message: expect.stringContaining("500") });
    const sent = await api(307, {}, { location: "http://192.0.2.1/" });
    expect(await failureOf(sent.calculations())).toMatchObject({ kind: "busy" });
  });
});
