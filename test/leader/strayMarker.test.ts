import { expect, test } from "vitest";
import { anyRunToLead } from "../../src/engine/leader/poll/markers.ts";
import type { LogEvent } from "../../src/engine/model/log.ts";
import { runBlobs } from "../../src/engine/model/runBlobs.ts";
import { leadInMemory } from "./leadInMemory.ts";

/** What a forged question with `run: ".."` made in the container of active runs, among others. */
const strays = ["abc.1-1-0a1b2c3d.json", "u/answers/t", "_x"];

async function accountWithStrays() {
  const account = leadInMemory();
  await account.ready;
  for (const name of strays) await account.storage.blobs.create(account.names.active, name, "{}");
  const log: LogEvent[] = [];
  Object.assign(account.ports, { log: (event: LogEvent) => void log.push(event) });
  return { account, log };
}

test("a blob among the markers whose name is no run's id is logged once a process, and other runs go on", async () => {
  const { account, log } = await accountWithStrays();
  await account.addRun("run1");
  await account.lead(30_000);
  const told = log.filter(({ event }) => event === "stray-marker").map(({ fields }) => fields["name"]);
  expect(told).toEqual([...strays].sort());
  expect(log.filter(({ level }) => level !== "debug" && level !== "info")).toHaveLength(strays.length);
  const state = await account.storage.blobs.head(account.names.runs, runBlobs("run1", "uidrun1").state);
  expect(state.kind).toBe("found");
});

test("a blob among the markers whose name is no run's id is nothing to lead for", async () => {
  const { account } = await accountWithStrays();
  expect(await anyRunToLead(account.ports)).toBe(false);
});
