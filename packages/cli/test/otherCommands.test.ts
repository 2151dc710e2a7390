import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { AnyCalculation } from "../../../src/engine/calculation/contract.ts";
import { depose } from "../../../src/engine/client/leader.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import { leaderBlob } from "../../../src/engine/model/names.ts";
import { runBlobs } from "../../../src/engine/model/runBlobs.ts";
import { calculations, leadsOn, names } from "../../../test/client/clientWorld.ts";
import { cliWorld, instancesOf } from "./cliWorld.ts";

const request = { calculation: "sum", params: { to: 100 }, id: "r1" };

describe("leasefold failures, leader, queues, calculations", () => {
  it("list what failed and why", async () => {
    const { run, client, storage } = await cliWorld();
    const submitted = await submit(client, request);
    expect((await run("failures r1")).out).toBe("no failures in r1\n");
    const name = runBlobs("r1", submitted.uid).failure({ kind: "pack", shard: 0, pack: 7 }, 1, 1);
    const failure = { v: 1, cause: "error", code: "calculation-threw", message: "no\u001b[2J", attempts: 5 };
    storage.operator.overwriteBlob(
      names.runs,
      name,
      JSON.stringify({ ...failure, chunks: { from: 70, to: 80 } }),
    );
    expect((await run("failures r1")).out).toBe(
      "WORK    CHUNKS  TRIES  CODE               ERROR\npack 7  70–79       5  calculation-threw  no [2J\n",
    );
  });

  it.each(["0", "-1"])("failures refuses --max %s, which would hide that something failed", async (max) => {
    const { run, client } = await cliWorld();
    await submit(client, request);
    expect(await run(`failures r1 --max ${max}`)).toMatchObject({
      ...{ exitCode: 2, out: "" },
      err: `leasefold: invalid --max: ${max}: must be at least 1\n`,
    });
  });

  it("list what is still tried below what failed, the chunk first", async () => {
    const { run, client, storage, putState } = await cliWorld();
    const submitted = await submit(client, request);
    await putState(submitted, { phase: "computing" });
    const { failure, tried } = runBlobs("r1", submitted.uid);
    const put = (name: string, record: object) =>
      storage.operator.overwriteBlob(
        names.runs,
        name,
        JSON.stringify({
          v: 1,
          cause: "error",
          code: "calculation-threw",
          attempts: 2,
          attemptsMax: 5,
          ...record,
        }),
      );
    const pack = (number: number) => ({ kind: "pack", shard: 0, pack: number }) as const;
    put(tried(pack(1), 1, 1), { message: "chunk 17: boom (mine.ts:3)", chunks: { from: 10, to: 20 } });
    put(tried(pack(2), 1, 1), { message: "the thread crashed", chunks: { from: 20, to: 30 } });
    const still = [
      "chunk 17: attempt 2 of 5: boom (mine.ts:3); still tried",
      "chunks 20–29: attempt 2 of 5: the thread crashed; still tried",
      "",
    ];
    expect((await run("failures r1")).out).toBe(still.join("\n"));
    const ended = {
      cause: "unreported",
      code: "process-ended",
      message: "ended its process 3 times",
      attempts: 3,
    };
    put(failure(pack(0), 1, 3), { ...ended, chunks: { from: 0, to: 1 } });
    expect((await run("failures r1")).out).toBe(
      [
        "WORK    CHUNKS  TRIES  CODE           ERROR",
        "pack 0  0           3  process-ended  ended its process 3 times",
        ...still,
      ].join("\n"),
    );
    // A retry has a generation of its own, and its record stands beside the earlier one.
    const again = { message: "ended its process again", attempts: 1, chunks: { from: 0, to: 1 } };
    put(failure(pack(0), 2, 4), { ...ended, ...again });
    const retried = (await run("failures r1")).out.split("\n").filter((line) => line.startsWith("pack 0"));
    expect(retried).toEqual(["pack 0  0           1  process-ended  ended its process again"]);
    const told = JSON.parse((await run("failures r1 --json")).out);
    expect(told).toMatchObject({
      failures: [{ generation: 1 }, { generation: 2 }],
      trying: [{ pack: 1, attemptsMax: 5 }, { pack: 2 }],
    });
  });

  it("list the input of what failed where a list was planned", async () => {
    const { run, client, storage } = await cliWorld();
    const { uid } = await submit(client, request);
    const blobs = runBlobs("r1", uid);
    const put = (name: string, body: unknown) =>
      storage.operator.overwriteBlob(names.runs, name, JSON.stringify(body));
    const plan = {
      v: 1,
      run: "r1",
      uid,
      code: "test",
      spec: "a".repeat(64),
      chunks: 2,
      packSize: 1,
      shardSize: 256,
      packMs: 1,
    };
    put(blobs.plan, { ...plan, segments: { attempt: "a", starts: [0], sha256: [] } });
    put(blobs.segment("a", 0), {
      v: 1,
      from: 0,
      inputs: ["a\u001b[2J", { file: "a name of many words.csv" }],
    });
    const failure = { v: 1, cause: "error", code: "calculation-threw", message: "no", attempts: 5 };
    for (const pack of [0, 1]) put(blobs.failure({ kind: "pack", shard: 0, pack }, 1, 1), failure);
    expect((await run("failures r1")).out).toBe(
      [
        "WORK    CHUNKS  INPUT                     TRIES  CODE               ERROR",
        'pack 0  0       "a\\u001b[2J"                  5  calculation-threw  no',
        'pack 1  1       {"file":"a name of many…      5  calculation-threw  no',
        "",
      ].join("\n"),
    );
    expect(JSON.parse((await run("failures r1 --json")).out)).toMatchObject({
      failures: [{ chunks: { from: 0, to: 1 } }, { inputs: [{ file: "a name of many words.csv" }] }],
    });
  });

  it("tell who leads", async () => {
    const { run, start, storage, world } = await cliWorld();
    expect((await run("leader")).out).toBe("nobody has ever led here\n");
    await leadsOn(storage, {
      ...{ region: "west", sinceMs: Date.UTC(2029, 11, 31, 23, 59, 0), leaseLeftMs: 11_900 },
      ...{ cameBy: "broken", notes: { runs: "2" } },
    });
    expect((await run("leader")).out).toBe(
      "node-1 (west) leads in term 7 since 23:59:00 UTC (1 min), last heartbeat 0 s ago, lease for 11 s more, " +
        "took over by breaking the lease; runs 2\n",
    );
    expect(JSON.parse((await run("leader --json")).out)).toMatchObject({
      leaseLeftS: 11.9,
      cameBy: "broken",
    });
    expect((await run("leader --name nightly")).out).toBe("nobody has ever led here\n");
    expect((await run("leader --name leases/x")).exitCode).toBe(2);
    const { ended, interrupt } = start("leader --watch");
    await world.advance(20_000);
    interrupt();
    const { exitCode, out } = await world.finish(ended);
    expect(exitCode).toBe(130);
    expect(out).toContain("nobody leads; the last was node-1 (west) in term 7,");
  });

  it("depose the leader that was seen, after a yes", async () => {
    const questions: string[] = [];
    let answer = false;
    const confirm = async (question: string) => {
      questions.push(question);
      return answer;
    };
    const { run, storage } = await cliWorld({ confirm });
    expect(await run("leader break --yes")).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining("nobody holds the lease"),
    });
    const lease = await leadsOn(storage, { term: 3 }, { name: "nightly", leaseS: 60 });
    expect(await run("leader break --name nightly")).toMatchObject({
      exitCode: 2,
      err: expect.stringMatching(/node-1 leads in term 3[\s\S]*nothing was done/),
    });
    expect(await lease.view()).toMatchObject({ leaseState: "leased" });
    answer = true;
    expect(await run("leader break --name nightly")).toMatchObject({ out: "node-1 is deposed in term 3\n" });
    expect(await lease.view()).toMatchObject({ leaseState: "broken" });
    expect(questions).toEqual(["Depose this leader?", "Depose this leader?"]);
  });

  it("depose nobody without a yes, and no successor of the leader that was seen", async () => {
    const { run, storage, client } = await cliWorld();
    const lease = await leadsOn(storage, { term: 4, holder: "node-2" }, { leaseS: 60 });
    expect(await run("leader break")).toMatchObject({ exitCode: 2, err: expect.stringContaining("--yes") });
    await expect(depose(client, leaderBlob, 3)).rejects.toMatchObject({ code: "leader-changed" });
    expect(await lease.view()).toMatchObject({ leaseState: "leased" });
    expect(JSON.parse((await run("leader break --yes --json")).out)).toEqual({
      kind: "deposed",
      name: "leader",
      term: 4,
      holder: "node-2",
    });
  });

  it("show the queues and their first messages", async () => {
    const { run, storage } = await cliWorld();
    await storage.queues.send(names.packs, '{"v":1,\n"kind":"plan"}');
    storage.operator.deleteQueue("test-wake-poison");
    expect((await run("queues")).out).toBe(`QUEUE               MESSAGES  OLDEST
test-packs                 1     0 s
test-packs-poison          0
test-urgent                0
test-urgent-poison         0
test-wake                  0
test-wake-poison     missing
`);
    expect((await run("queues peek packs -n 2")).out).toBe(
      'INSERTED              TAKEN  TEXT\n2030-01-01T00:00:00Z      0  {"v":1, "kind":"plan"}\n',
    );
    expect((await run("queues peek urgent")).out).toBe("no visible message\n");
    expect(await run("queues peek other")).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining("test-packs"),
    });
    expect(await run("queues peek packs -n 99")).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining("32"),
    });
  });

  it("clear a poison queue after a look, and no other queue", async () => {
    const asked: string[] = [];
    const confirm = async (question: string) => asked.push(question) > 1;
    const { run, storage } = await cliWorld({ confirm });
    const poison = `${names.packs}-poison`;
    for (let at = 0; at < 40; at += 1) await storage.queues.send(poison, `no message ${at}`);
    expect(await run("queues clear packs")).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining("there are test-packs-poison, test-urgent-poison, test-wake-poison"),
    });
    expect(await run("queues clear packs-poison")).toMatchObject({
      exitCode: 2,
      err: expect.stringMatching(
        /^test-packs-poison: the first of its messages, since .*Z\n {2}32 × unreadable\n.*nothing was done/,
      ),
    });
    expect(await storage.queues.stats(poison)).toMatchObject({ approximateCount: 40 });
    expect((await run("queues clear packs-poison")).out).toBe("40 messages of test-packs-poison deleted\n");
    expect((await run("queues clear packs-poison --yes --json")).out).toBe(
      '{"queue":"test-packs-poison","cleared":0}\n',
    );
    expect(asked).toHaveLength(2);
  });

  it("describe the calculations", async () => {
    const { run } = await cliWorld();
    expect((await run("calculations")).out).toBe(`NAME  WHAT IT COMPUTES, AND ITS PARAMETERS
sum   adds the whole numbers below N
      --to [--label none] [--exact false] [--max-size 10]
`);
    expect((await run("calculations sum")).out).toBe(`sum: adds the whole numbers below N
OPTION      TYPE     DEFAULT     MEANING
--to        integer  (required)  exclusive end
--label     string   none        a text
--exact     boolean  false       a flag
--max-size  number   10          a number with a long name
`);
    expect((await run("calculations other")).exitCode).toBe(2);
    expect(JSON.parse((await run("calculations --json")).out)).toMatchObject({
      calculations: [{ name: "sum" }],
    });
    const { params } = JSON.parse((await run("calculations sum --json")).out);
    expect(params.map((one: { default?: unknown }) => one.default)).toEqual([undefined, "none", false, 10]);
  });

  it("show as required only the parameters that must be given", async () => {
    const params = z.object({ to: z.number(), from: z.number().optional(), step: z.number().default(2) });
    const one = { ...calculations.get("sum"), params } as unknown as AnyCalculation;
    const { run } = await cliWorld({
      calculations: async () => ({ ...calculations, list: () => [one], get: () => one }),
    });
    expect((await run("calculations")).out).toContain("\n      --to [--from] [--step 2]\n");
    expect((await run("calculations sum")).out).toBe(`sum: adds the whole numbers below N
OPTION  TYPE    DEFAULT     MEANING
--to    number  (required)
--from  number  (optional)
--step  number  2
`);
  });

  it("show a parameter without default as required if an older instance does not tell its schema", async () => {
    const params = [{ name: "to", type: "number", description: "end" }];
    const old = { name: "old", summary: "adds", params, schema: {}, code: "old@1" };
    const { run } = await cliWorld({
      instances: instancesOf({ calculations: async () => [old] }),
    });
    expect((await run("calculations")).out).toContain("\n      --to\n");
    expect((await run("calculations old")).out).toContain("--to    number  (required)  end\n");
  });
});
