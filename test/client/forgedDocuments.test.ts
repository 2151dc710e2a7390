import { describe, expect, it } from "vitest";
import { command } from "../../src/engine/client/commands/command.ts";
import { costs } from "../../src/engine/client/costs.ts";
import { runs } from "../../src/engine/client/runs.ts";
import { addSchedule, deleteSchedule, schedules } from "../../src/engine/client/schedules/changeSchedule.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { plainId, scheduleBlob } from "../../src/engine/model/names.ts";
import { forgedRuns, forgedSchedules } from "../support/forgedDocuments.ts";
import { clientWorld, names } from "./clientWorld.ts";

const request = { calculation: "sum", params: { to: 100 } };

describe("a forged document is one unreadable entry", () => {
  it("in the lists of runs and costs, and its run can be deleted", async () => {
    const { client, storage } = await clientWorld();
    await submit(client, { ...request, id: "honest" });
    const forged = forgedRuns();
    for (const { files } of forged)
      for (const { name, body, metadata } of files)
        await storage.blobs.create(name.includes("/") ? names.runs : names.active, name, body, { metadata });
    const listed = (await runs(client)).runs;
    expect(listed.find(({ run }) => run === "honest")).toMatchObject({ word: "waiting" });
    for (const { run } of forged) {
      const one = listed.find((other) => other.run === run);
      expect(one, run).toMatchObject({
        word: "unreadable",
        error: { message: expect.stringContaining(run) },
      });
    }
    expect((await costs(client)).total.runs).toBe(1);
    for (const { run } of forged) await command(client, run, { kind: "delete" });
    for (const { run } of forged) {
      const marker = await storage.blobs.head(names.active, run);
      expect(marker, run).toMatchObject({ properties: { metadata: { want: "delete" } } });
    }
  });

  it("in the list of schedules, and one whose name a schedule can have can be deleted", async () => {
    const { client, storage } = await clientWorld();
    for (const { name, body, metadata } of forgedSchedules)
      await storage.blobs.create(names.active, scheduleBlob(name), body, { metadata });
    await addSchedule(client, { name: "s", cron: "* * * * *", run: request });
    const listed = await schedules(client);
    expect(listed.schedules.map(({ name }) => name)).toEqual(["s"]);
    expect(listed.unreadable.map(({ blob }) => blob).sort()).toEqual(
      forgedSchedules.map(({ name }) => plainId(scheduleBlob(name))).sort(),
    );
    await deleteSchedule(client, "next");
    const { unreadable } = await schedules(client);
    expect(unreadable.map(({ blob }) => blob)).not.toContain(scheduleBlob("next"));
  });

  it("is listed under a name that no shell takes for anything but a name", async () => {
    const { client, storage } = await clientWorld();
    const shell = ["night$(id)", "a;b", "`x`", "a b", "x\u202e", "'", "!x", "~", "*"];
    for (const name of shell) await storage.blobs.create(names.active, name, "");
    const listed = (await runs(client)).runs.map(({ run }) => run);
    expect(listed).toHaveLength(shell.length);
    for (const run of listed) expect(run).toMatch(/^[A-Za-z0-9_/%-]+$/);
    expect(listed).toContain("night%24%28id%29");
  });
});

describe("what the reader of a schedule refuses, its maker refuses", () => {
  it.each([
    ["a cron expression of 250 characters", { cron: `${"1,".repeat(120)}2 * * * *` }, "cron"],
    ["one of 400 KB", { cron: `${"1,".repeat(200_000)}2 * * * *` }, "cron"],
    ["one of 400 KB that is none", { cron: `${"x".repeat(400_000)} * * * *` }, "cron"],
    ["a time zone of 400 KB", { cron: "* * * * *", timeZone: "x".repeat(400_000) }, "timeZone"],
    ["tags of 2 MB", { cron: "* * * * *", run: { ...request, tags: { a: "x".repeat(2_000_000) } } }, "tags"],
  ])("%s", async (_what, change, field) => {
    const { client } = await clientWorld();
    const asked = { name: "long", run: request, ...change };
    const error = await addSchedule(client, asked).catch((one: unknown) => one);
    expect(error).toMatchObject({ reason: "invalid", message: expect.stringContaining(field) });
    expect((error as Error).message.length).toBeLessThan(400);
    expect(await schedules(client)).toEqual({ schedules: [], unreadable: [] });
  });
});
