import { expect, it } from "vitest";
import { overview } from "../../src/engine/client/overview.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { type ClosedRun, closedBlob, encodeClosedRun } from "../../src/engine/model/closedRun.ts";
import { clientWorld, names } from "./clientWorld.ts";

const hourMs = 3_600_000;
const cost = { dollars: 0.25, storageDollars: 0.05, computeDollars: 0.2, gbS: 1, executions: 1 };

/** Puts runs that have ended, so many hours ago. */
async function worldOf(given: readonly (Partial<ClosedRun> & { run: string; hoursAgo: number })[]) {
  const made = await clientWorld();
  const nowMs = made.client.clock.wallMs();
  for (const { hoursAgo, ...one } of given) {
    const submittedMs = nowMs - hoursAgo * hourMs;
    const times = { finishedMs: submittedMs + 60_000, ...one };
    const run = { uid: "u", generation: 1, phase: "complete", calculation: "risk", cost, ...times } as const;
    const metadata = encodeClosedRun(run);
    await made.storage.blobs.create(names.runs, closedBlob(run.run, submittedMs), "", { metadata });
  }
  return made;
}
const chunks = { total: 100, done: 93, failed: 7 };
const boom = { code: "pack-failed", message: "chunk 3: RangeError: boom" };

it("counts what became of the runs since a time, and what they cost", async () => {
  const { client } = await worldOf([
    { run: "a", hoursAgo: 1 },
    { run: "b", hoursAgo: 2, chunks },
    { run: "c", hoursAgo: 3, phase: "failed", error: boom },
    { run: "d", hoursAgo: 4, phase: "cancelled" },
    { run: "old", hoursAgo: 60, phase: "failed", error: boom },
  ]);
  await submit(client, { calculation: "sum", params: { to: 100 }, id: "e" });
  const { series: _series, attention, since: _since, ...counts } = await overview(client, { since: "5h" });
  expect(counts).toEqual({ complete: 1, gaps: 1, failed: 1, cancelled: 1, active: 1, dollars: 1 });
  expect(attention.map(({ run, message }) => [run, message])).toEqual([
    ["c", "chunk 3: RangeError: boom"],
    ["b", "7 missing of 100 chunks"],
  ]);
});

it("since yesterday is one night, whenever it is asked for", async () => {
  const { client } = await worldOf([
    { run: "a", hoursAgo: 23 },
    { run: "b", hoursAgo: 25 },
  ]);
  expect(await overview(client)).toMatchObject({
    complete: 1,
    since: new Date(client.clock.wallMs() - 24 * hourMs).toISOString(),
  });
});

it("each failure names the command that helps, by its error", async () => {
  const codes = ["pack-failed", "inputs-changed", "deadline", "other-code", "storage-lost", "plan-lost"];
  const { client } = await worldOf(
    codes.map((code, hoursAgo) => ({ run: code, hoursAgo, phase: "failed", error: { code, message: "" } })),
  );
  const { attention } = await overview(client, { since: "1d" });
  expect(Object.fromEntries(attention.map(({ run, cure }) => [run, cure?.command]))).toEqual({
    "pack-failed": "leasefold retry pack-failed",
    "inputs-changed": "leasefold submit risk … --reuse inputs-changed",
    deadline: "leasefold retry deadline",
    "other-code": "leasefold retry other-code",
    "storage-lost": "leasefold retry storage-lost",
    "plan-lost": "leasefold submit risk …",
  });
});

it("no command holds a stored name that is none of a calculation", async () => {
  const error = { code: "inputs-changed", message: "" };
  const { client } = await worldOf([
    { run: "a", hoursAgo: 1, phase: "failed", error, calculation: "$(reboot)" },
  ]);
  expect((await overview(client)).attention[0]?.cure?.command).toBe("leasefold submit NAME … --reuse a");
});

it("the last runs of a calculation, or of a schedule, say whether each result is the one before", async () => {
  const sha256 = "a".repeat(64);
  const { client } = await worldOf([
    { run: "n1", hoursAgo: 73, sha256 },
    { run: "n2", hoursAgo: 49, sha256 },
    { run: "n3", hoursAgo: 25, phase: "failed", error: boom },
    { run: "n4", hoursAgo: 1, sha256: "b".repeat(64) },
    { run: "s1", hoursAgo: 2, by: "schedule nightly", sha256 },
    ...Array.from({ length: 20 }, (_, index) => ({
      run: `h${index}`,
      hoursAgo: index,
      calculation: "hourly",
    })),
    { run: "ancient", hoursAgo: 24 * 15, calculation: "hourly" },
  ]);
  const { series } = await overview(client, { since: "30h" });
  expect(series.map(({ name, runs }) => [name, runs.length])).toEqual([
    ["risk", 4],
    ["hourly", 14],
    ["nightly", 1],
  ]);
  expect(series[0]?.runs.map(({ run, same }) => [run, same])).toEqual([
    ["n1", undefined],
    ["n2", true],
    ["n3", undefined],
    ["n4", false],
  ]);
  expect(series[1]?.runs.at(-1)?.run).toBe("h0");
});
