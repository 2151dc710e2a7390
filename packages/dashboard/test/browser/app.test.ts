import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { command } from "../../../../src/engine/client/commands/command.ts";
import { submit } from "../../../../src/engine/client/submit.ts";
import { chainFile, serialChain } from "../../../../test/support/chain.ts";
import { type RealApp, startRealApp } from "../../../../test/support/realApp.ts";
import { disconnect, missing, type Visit, visit } from "./visits.ts";

/** The page as the app serves it, on real instances and Azurite: what a person does, and what then is true in storage. */
let app: RealApp;
let folder = "";
let opened: Visit[] = [];

const address = (route: string): string =>
  `${app.instances.instances[0]?.httpUrl}/api/ui#token=${app.instances.functionKey}&${route}`;

async function open(route: string, answered: readonly number[] = []): Promise<Visit> {
  const one = await visit(address(route), { answered });
  opened.push(one);
  return one;
}

describe.skipIf(missing)("on real instances", () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "leasefold-page-"));
    const env = { AzureFunctionsJobHost__extensions__queues__maxDequeueCount: "2" };
    app = await startRealApp({ instances: 2, calculations: [chainFile], env });
  });
  afterEach(async () => {
    expect(opened.flatMap(({ problems }) => problems)).toEqual([]);
    for (const one of opened) await one.close();
    opened = [];
  });
  afterAll(async () => {
    await disconnect();
    await app?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test("a run is planned and submitted by form, watched to its end, and downloaded with its hash checked", async () => {
    const { page } = await open("/submit?calculation=chain");
    expect(page.url()).not.toContain(app.instances.functionKey);
    await page.getByLabel("--chunks", { exact: true }).fill("24");
    await page.getByLabel("--ms", { exact: true }).fill("100");
    await page.getByRole("button", { name: "Plan", exact: true }).click();
    await page.locator(".plan .facts").getByText("24,").waitFor();
    await page.getByText("Options of the run").click();
    await page.getByLabel("--id", { exact: true }).fill("by-form");
    await page.getByLabel("--pack-size").fill("4");
    await page.getByRole("button", { name: "Submit", exact: true }).click();
    await page.getByRole("heading", { name: "by-form" }).waitFor();
    await page.locator(".state", { hasText: /^complete$/ }).waitFor();
    await page.locator(".run-header .figures").getByText("6 / 6").waitFor();

    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download and check" }).click();
    const file = await downloading;
    const saved = join(folder, file.suggestedFilename());
    await file.saveAs(saved);
    const bytes = await readFile(saved);
    expect(bytes.toString()).toBe(await serialChain(24));
    const hash = createHash("sha256").update(bytes).digest("hex");
    await page.getByText("Checked in this browser").waitFor();
    await page.getByText("Manifest", { exact: true }).click();
    await page.getByRole("region", { name: "Manifest" }).getByText(hash).waitFor();

    const reporting = page.waitForEvent("download");
    await page.getByRole("button", { name: "Report" }).click();
    const report = join(folder, "report.html");
    await (await reporting).saveAs(report);
    expect(await readFile(report, "utf8")).toContain(hash);
  });

  test("instances at work have a lane for each thread, down to the chunk, and one that is killed says so", async () => {
    const params = { chunks: 60, ms: 1_500 };
    await submit(app.client, { calculation: "chain", params, id: "seen", packSize: 4 });
    const { page } = await open("/system");
    const [, victim] = app.instances.instances;
    const board = page.getByRole("region", { name: victim?.name ?? "", exact: true });
    await board.getByText(/pack \d+, chunks \d+–\d+, at \d+/).waitFor();
    await board.locator(".lane .open").first().waitFor();
    await page.getByText(/computed by 2 instances, \d threads?/).waitFor();

    await page.getByRole("link", { name: "seen" }).first().click();
    await page.getByRole("link", { name: /computed by 2 instances/ }).waitFor();
    await page.getByText("Cells as a table").click();
    const cells = page.getByRole("region", { name: "Cells of the pack map" });
    await cells
      .getByText(new RegExp(`^${victim?.name} for \\d+ s$`))
      .first()
      .waitFor();

    await page.getByRole("link", { name: "System" }).click();
    await victim?.kill();
    await board.getByText("ended: signal SIGKILL").waitFor();
    await command(app.client, "seen", { kind: "delete" });
    await victim?.restart();
  });

  test("a killed leader appears as a gap, and the next one as a new term", async () => {
    const params = { chunks: 400, ms: 60 };
    await submit(app.client, { calculation: "chain", params, id: "led-twice", packSize: 4, cap: 4 });
    const view = await app.until(
      "led-twice",
      ({ packs, terms }) => (packs?.done ?? 0) >= 4 && terms.length > 0,
    );
    const leader = view.terms.at(-1)?.holder;
    // The page is served by the instance that lives on.
    const at = app.instances.instances.findIndex(({ name }) => name === leader);
    const { httpUrl } = app.instances.instances[1 - at] ?? {};
    const one = await visit(`${httpUrl}/api/ui#token=${app.instances.functionKey}&/runs/led-twice`);
    opened.push(one);
    const { page } = one;
    await page.getByText(`${leader} · term`).waitFor();
    await app.instances.instances[at]?.kill();
    await page.locator(".terms .gap").waitFor({ state: "attached" });
    await page.getByText("Leaders as a table").click();
    const table = page.getByRole("region", { name: "Leaders of the run" });
    await table.getByText(/no leader for \d/).waitFor();
    // A poll may come while there is no leader yet.
    const last = table.locator("tbody tr").last();
    await last.getByText(/leads for/).waitFor();
    const rows = await table.locator("tbody tr").allInnerTexts();
    expect(rows.some((row) => row.includes(`${leader}, term`))).toBe(true);
    expect(rows.at(-1)).toMatch(/term \d+, leads for/);
    expect(rows.at(-1)).not.toContain(`${leader}, term`);
    await app.instances.instances[at]?.restart();

    // The same run is then paused, capped and resumed, and told of what the leader made of it.
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("computing, paused", { exact: true }).waitFor();
    expect(await app.until("led-twice", ({ paused }) => paused)).toMatchObject({ active: true });
    await page.getByRole("button", { name: "Cap …" }).click();
    await page.getByLabel("Packs in flight at most").fill("16");
    await page.getByRole("button", { name: "Set the cap" }).click();
    await page.getByText("16 packs in flight").waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.locator(".state", { hasText: /^computing$/ }).waitFor();
    expect(await app.until("led-twice", ({ paused }) => !paused)).toMatchObject({ cap: 16 });
    await page.getByRole("button", { name: "Cancel …" }).click();
    await page.getByLabel(/Finish with what is done/).check();
    await page.getByRole("button", { name: "End and keep what is done" }).click();
    await page.locator(".state", { hasText: "complete with gaps" }).waitFor();
  });

  test("a failing run groups its failures, and its retry computes what it said it would", async () => {
    const mendedBy = join(folder, "mended");
    const params = { chunks: 12, broken: "3,8", mendedBy };
    await submit(app.client, {
      calculation: "chain",
      params,
      id: "failing",
      packSize: 1,
      attempts: 1,
      tolerate: { chunks: 1 },
    });
    const { page } = await open("/runs/failing", [404]);
    await page.locator(".state", { hasText: /^failed$/ }).waitFor();
    await page.getByText("chunk N is not mended yet").first().waitFor();
    const { packs } = await app.until("failing", ({ active }) => !active);
    const missingPacks = (packs?.total ?? 0) - (packs?.done ?? 0);
    expect(missingPacks).toBeGreaterThanOrEqual(2);
    for (const chunk of [3, 8]) await writeFile(`${mendedBy}.${chunk}`, "");
    await page.getByRole("button", { name: `Retry ${missingPacks} packs …` }).click();
    const dialog = page.getByRole("dialog");
    await dialog
      .getByText(`Computes ${missingPacks} packs (${missingPacks} chunks) without a partial`)
      .waitFor();
    await dialog.getByRole("button", { name: `Retry ${missingPacks} packs` }).click();
    await page.locator(".state", { hasText: /^complete$/ }).waitFor();
    expect(await app.result("failing")).toBe(await serialChain(12));
    await page.getByRole("button", { name: "Delete …" }).click();
    await page.getByRole("button", { name: "Delete for good" }).click();
    await page.getByText("This run was deleted").waitFor();
  });
});
