import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { builtProgram, until } from "../support/builtProgram.ts";

/** `leasefold up --add`, with the built program on this machine. */
const { folder, leasefold, localFile, startUp, down } = builtProgram();

afterEach(down);

/** A sum of chunks that each take `ms` and give `gives`. */
const write = (file: string, name: string, gives: number, ms = 0): Promise<void> =>
  writeFile(
    join(folder(), file),
    `import { setTimeout as sleep } from "node:timers/promises";
    import { defineCalculation, z } from "leasefold";
    export default defineCalculation({
      name: "${name}", summary: "adds",
      params: z.strictObject({ n: z.coerce.number().int().min(1) }),
      plan: ({ n }) => n,
      async compute() { await sleep(${ms}); return ${gives}; },
      merge: (a, b) => a + b, zero: () => 0,
    });`,
  );

const statusOf = async (run: string) => JSON.parse((await leasefold("status", run, "--json")).out);
const pidsNow = async () => (await localFile())?.instances.map(({ pid }) => pid);

test("a second calculation joins running instances, which keep uploads and the runs that they compute", async () => {
  await write("slow.mjs", "slow", 1, 100);
  await write("fast.mjs", "fast", 2);
  await mkdir(join(folder(), "birds"));
  await writeFile(join(folder(), "birds", "a.csv"), "x");
  const { local, out } = await startUp("--instances", "2", "--calculation", "slow.mjs");
  expect(out()).toContain("now, in another terminal: leasefold submit ./slow.mjs --n 1 --wait");
  await leasefold("upload", "birds");
  await leasefold("submit", "slow", "--n", "200", "--pack-size", "4", "--id", "during");
  await until("it computes", async () => (await statusOf("during")).packs?.done > 0, { everyMs: 1_000 });

  const lacks = await leasefold("submit", "./fast.mjs", "--n", "3");
  expect(lacks).toMatchObject({ code: 2, out: "" });
  expect(lacks.err).toMatch(
    /do not have the calculation: fast.*"leasefold up --add \.\/fast\.mjs" loads it into them/,
  );

  const added = await leasefold("up", "--add", "./fast.mjs");
  expect(added).toMatchObject({ code: 0, err: "" });
  expect(added.out).toBe("the instances have fast now\nnow: leasefold submit ./fast.mjs --n 1 --wait\n");
  const pids = await pidsNow();
  for (const { pid } of local.instances) expect(pids).not.toContain(pid);
  expect(await leasefold("submit", "fast", "--n", "3", "--wait")).toMatchObject({ code: 0, out: "6\n" });
  expect((await leasefold("inputs")).out).toContain("leasefold-inputs/birds/");

  await until("the run has ended", async () => (await statusOf("during")).word === "complete", {
    everyMs: 1_000,
  });
  expect((await leasefold("result", "during")).out).toBe("200\n");
  expect((await statusOf("during")).packs.failed).toBe(0);

  expect((await leasefold("up", "--add", "./fast.mjs")).out).toMatch(/^the instances have fast already\n/);
  expect(await pidsNow()).toEqual(pids);
});

test("up --add takes no code from a run that is computed, loads what has changed, and refuses a second of one name", async () => {
  await write("slow.mjs", "slow", 1, 300);
  await startUp("--instances", "1", "--calculation", "slow.mjs");
  await leasefold("submit", "slow", "--n", "500", "--id", "during");
  await until("it is planned", async () => (await statusOf("during")).code !== undefined, { everyMs: 1_000 });
  await write("slow.mjs", "slow", 10);
  await write("fast.mjs", "fast", 2);
  for (const file of ["./slow.mjs", "./fast.mjs"])
    expect(await leasefold("up", "--add", file)).toMatchObject({
      code: 2,
      err: expect.stringMatching(/during is being computed by code that its file no longer has/),
    });
  await leasefold("cancel", "during");
  await until("it has ended", async () => !(await statusOf("during")).active, { everyMs: 1_000 });
  expect((await leasefold("up", "--add", "./slow.mjs")).out).toContain("the instances have slow now");
  expect((await leasefold("submit", "slow", "--n", "3", "--wait")).out).toBe("30\n");

  await write("other.mjs", "slow", 5);
  const pids = await pidsNow();
  expect((await leasefold("up", "--add", "./other.mjs")).err).toContain(
    "there is already a calculation named slow",
  );
  expect(await pidsNow()).toEqual(pids);

  await rename(join(folder(), "slow.mjs"), join(folder(), "renamed.mjs"));
  expect((await leasefold("up", "--add", "./renamed.mjs")).out).toContain("the instances have slow");
  await write("fast.mjs", "fast", 2);
  expect(await leasefold("up", "--add", "./fast.mjs")).toMatchObject({ code: 0, err: "" });
  expect(await leasefold("submit", "slow", "--n", "3", "--wait")).toMatchObject({ code: 0, out: "30\n" });
});

test("without instances here, and for storage elsewhere, up --add says how to start some and how to deploy", async () => {
  await write("fast.mjs", "fast", 2);
  const none = await leasefold("up", "--add", "fast.mjs");
  expect(none.err).toMatch(
    /"leasefold up --calculation fast\.mjs" starts some\. On Azure .* docs\/OPERATIONS\.md/,
  );
  const azure = await leasefold("up", "--add", "fast.mjs", "--account", "someaccount");
  expect(azure.err).toMatch(/invalid --add: fast\.mjs: On Azure a calculation is deployed with the app/);
});
