import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { BlobServiceClient } from "@azure/storage-blob";
import { expect, test } from "vitest";
import { builtProgram, until } from "../support/builtProgram.ts";

/** What SECURITY.md promises, tried on the built program by somebody who may write inputs, or who is another user of the machine. */
const { folder, leasefold, startUp } = builtProgram();

test("hashes that somebody states of an input count nowhere: not in a pack, not in verify, not in an upload", async () => {
  const { local } = await startUp("--instances", "1");
  const inputs = BlobServiceClient.fromConnectionString(local.connectionString).getContainerClient(
    `${local.namespace}-inputs`,
  );
  /** Other bytes of the same length under the hash of the old ones, as blocks, of which the service checks none. */
  const swap = async (name: string, text: string, metadata: Record<string, string>): Promise<void> => {
    const [blob, block] = [inputs.getBlockBlobClient(name), Buffer.from("b1").toString("base64")];
    await blob.stageBlock(block, text, text.length);
    await blob.commitBlockList([block], { metadata });
  };
  const mine = "amount\n1\n2\n";
  await writeFile(join(folder(), "mine.csv"), mine);
  expect(await leasefold("upload", "mine.csv")).toMatchObject({ code: 0 });
  const query = [
    "sql",
    "--source",
    "leasefold-inputs/mine.csv",
    "--query",
    "select sum(amount) as s from data",
  ];
  expect(await leasefold("submit", ...query, "--id", "honest", "--wait")).toMatchObject({ code: 0 });
  expect((await leasefold("verify", "honest")).out).toContain("list of inputs as recorded");

  await swap("mine.csv", "amount\n8\n9\n", { sha256: hash("sha256", mine) });
  const verified = await leasefold("verify", "honest", "--sample", "100%");
  expect(verified.code).toBe(1);
  expect(verified.out).toMatch(
    /1 failed when computed again(.|\s)*mine\.csv was changed after the run was planned/,
  );
  expect(await leasefold("upload", "mine.csv")).toMatchObject({
    code: 2,
    err: expect.stringContaining("mine.csv exists with other content"),
  });
});

test("commands that ask for no calculation of the app in their folder, which may have been cloned, load none of its code", async () => {
  await startUp("--instances", "1");
  const app = join(folder(), "src/calculations");
  await mkdir(app, { recursive: true });
  await writeFile(join(folder(), "host.json"), "{}");
  await writeFile(
    join(folder(), "package.json"),
    JSON.stringify({ main: "index.js", dependencies: { leasefold: "*" } }),
  );
  const ran = join(folder(), "ran");
  const code = `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(ran)}, "");`;
  await writeFile(join(app, "evil.mjs"), `${code} export default {};`);
  await writeFile(join(folder(), "mine.csv"), "a\n1\n");
  const submitted = await leasefold("submit", "primes", "--to", "1000", "--id", "r1", "--wait");
  expect(submitted.code, submitted.err).toBe(0);
  const commands = `plan primes --to 1000|runs|status r1|result r1|costs|failures r1|logs r1|verify r1|report r1|leader|workers|queues
    |doctor|upload mine.csv|sql select 1 --source mine.csv|schedule list|show url|try primes --to 10|retry r1|cancel r1|delete r1 --yes`;
  for (const command of commands.split("|")) {
    await leasefold(...command.trim().split(" "));
    expect(existsSync(ran), command).toBe(false);
  }
  await leasefold("plan", "evil");
  expect(existsSync(ran)).toBe(true);
}, 300_000);

test("files that would end the process of their reader, or fill its memory, fail their runs alone", async () => {
  const { out } = await startUp("--instances", "1");
  await mkdir(join(folder(), "deep"));
  await writeFile(
    join(folder(), "deep/a.ndjson"),
    `{"a":1}\n{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}\n`,
  );
  await mkdir(join(folder(), "flood"));
  await writeFile(join(folder(), "flood/a.csv"), `k,n\n${"a,1\n".repeat(300_000)}${"a\n".repeat(3_000_000)}`);
  for (const [name, why] of [
    ["deep", "a.ndjson: a value has more than 1000 levels"],
    ["flood", "a.csv: some 3000001 lines are no records of the source"],
  ] as const) {
    expect(await leasefold("upload", name)).toMatchObject({ code: 0 });
    const query = ["--source", `leasefold-inputs/${name}/`, "--query", "select count(*) as n from data"];
    expect((await leasefold("plan", "sql", ...query)).code, name).toBe(7);
    const { code, err } = await leasefold("submit", "sql", ...query, "--id", name, "--wait");
    expect({ code, err }, name).toMatchObject({ code: 7, err: expect.stringContaining(why) });
  }
  expect(out()).not.toMatch(/ended \(/);
}, 300_000);

test("300 connections with half a request are closed within a minute, and requests are answered meanwhile", async () => {
  const { local } = await startUp("--instances", "1");
  const url = new URL(local.instances[0]?.httpUrl ?? "");
  let closed = 0;
  const half = [
    "GET /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\nx-a: ",
    "POST /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\ncontent-length: 9\r\n\r\n{",
  ];
  const sockets = Array.from({ length: 300 }, (_, index) => {
    const socket = connect(Number(url.port), "127.0.0.1");
    socket.on("error", () => {}).once("close", () => (closed += 1));
    socket.resume().write(half[index % half.length] ?? "");
    return socket;
  });
  const ask = async () =>
    (await fetch(new URL("/api/runs", url), { headers: { "x-functions-key": local.functionKey } })).status;
  expect(await ask()).toBe(200);
  await until("all are closed", async () => closed === sockets.length);
  expect(await ask()).toBe(200);
});
