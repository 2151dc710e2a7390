import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { hostileText } from "./fixture/fixtureRuns.ts";
import { type Fixture, startFixture } from "./fixture/fixtureServer.ts";
import { disconnect, missing, type Visit, visit } from "./visits.ts";

/** What a person does on the page, over the fixture: requests are read from the server's side. */
let fixture: Fixture;
let opened: Visit[] = [];

async function open(
  route: string,
  options: Parameters<typeof visit>[1] & { readonly key?: string } = {},
): Promise<Page> {
  const { key = fixture.key, ...rest } = options;
  const one = await visit(`${fixture.url}/api/ui#${key === "" ? route : `token=${key}&${route}`}`, rest);
  opened.push(one);
  return one.page;
}

/** Presses Tab until the focused element has this name, as somebody without a pointer does. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => {
      const element = document.activeElement;
      const label =
        element?.getAttribute("aria-label") ??
        (element instanceof HTMLInputElement ? element.labels?.[0]?.textContent : null);
      return label ?? element?.textContent ?? "";
    });
    if (focused.trim().startsWith(name)) return;
  }
  throw new Error(`Tab does not reach ${name}`);
}

const changes = () =>
  fixture.requests
    .filter(({ method }) => method !== "GET")
    .map(({ method, path, body }) => `${method} ${path} ${body}`.trim());

describe.skipIf(missing)("on the fixture", () => {
  beforeAll(async () => {
    fixture = await startFixture();
  });
  beforeEach(() => {
    fixture.requests.length = 0;
    fixture.readOnly = false;
  });
  afterEach(async () => {
    const problems = opened.flatMap((one) => one.problems);
    for (const one of opened) await one.close();
    opened = [];
    expect(problems).toEqual([]);
  });
  afterAll(async () => {
    await fixture?.stop();
    await disconnect();
  });

  test("a key of the address leaves it at once, is never sent in one, and is forgotten on request", async () => {
    const page = await open("/runs");
    await page.getByText("primes-live").waitFor();
    expect(page.url()).toBe(`${fixture.url}/api/ui#/runs`);
    expect(await page.evaluate(() => [sessionStorage.length, localStorage.length, document.cookie])).toEqual([
      0,
      0,
      "",
    ]);
    await page.getByRole("button", { name: "Keep for this tab" }).click();
    await page.reload();
    await page.getByText("primes-live").waitFor();
    await page.getByRole("button", { name: "Forget key" }).click();
    await page.getByRole("heading", { name: "Function key" }).waitFor();
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
    // The address of another start is often opened in the tab of the last one.
    await page.evaluate((key) => location.assign(`#token=${key}&/system`), fixture.key);
    await page.getByText("node-2 leads").waitFor();
    expect(page.url()).toBe(`${fixture.url}/api/ui#/system`);
    expect(fixture.requests.filter(({ path }) => path.includes(fixture.key))).toEqual([]);
  });

  test("a wrong key is refused in words, and the right one opens the view of the address", async () => {
    const page = await open("/runs/primes-done", { key: "", answered: [401] });
    await page.getByLabel("Key", { exact: true }).fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByText("That key was refused").waitFor();
    await page.getByLabel("Key", { exact: true }).fill(fixture.key);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "primes-done" }).waitFor();
  });

  test("with the keyboard alone a run is found, its map read, and the run cancelled", async () => {
    const page = await open("/runs");
    await page.getByText("primes-live").waitFor();
    await tabTo(page, "primes-live");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "primes-live" }).waitFor();
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    await expect.poll(focused).toBe("primes-live");
    await page.getByRole("slider").waitFor();
    expect(await focused()).toBe("primes-live");
    await tabTo(page, "Cancel …");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expect.poll(focused).toBe("Cancel …");
    await tabTo(page, "Cell of the pack map");
    const map = page.getByRole("slider");
    await page.keyboard.press("End");
    const reading = () => map.getAttribute("aria-valuetext");
    await expect.poll(reading).toBe("pack 144: not sent (shard 6)");
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");
    await expect.poll(reading).toMatch(/^pack 1: /);
    await page.keyboard.press("Enter");
    await expect.poll(() => page.url()).toContain("#/runs/primes-live?shard=0");
    await page.getByRole("button", { name: "Cancel …" }).focus();
    await page.keyboard.press("Enter");
    // What opens takes the focus.
    await page.getByRole("dialog").waitFor();
    await page.getByLabel(/No result/).focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.locator(".state", { hasText: "cancelled" }).waitFor();
    expect(changes()).toEqual(['PATCH runs/primes-live {"want":"cancelled","keep":true}']);
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });

  test("a read-only page shows everything and offers nothing that changes", async () => {
    fixture.readOnly = true;
    for (const route of ["/runs/risk-2026-11", "/runs", "/submit"]) {
      const page = await open(route);
      await page.getByText("Read-only", { exact: true }).waitFor();
      await page.waitForLoadState("networkidle");
      const names = await page.getByRole("button").or(page.getByRole("link")).allInnerTexts();
      expect(
        names.filter((name) =>
          /^(retry|delete|cancel …|pause|resume|cap|verify|new run|use for|plan|compare|submit)/i.test(name),
        ),
      ).toEqual([]);
    }
    expect(changes()).toEqual([]);
  });

  test("what a failed chunk printed is read when it is opened, and not before", async () => {
    const run = [...fixture.runs.values()].find(({ word }) => word === "failed")?.run;
    const page = await open(`/runs/${run}`);
    const printed = page.locator("details", { hasText: "What chunk 132 printed" });
    await printed.waitFor();
    const asked = () => fixture.requests.filter(({ path }) => path.includes("/logs"));
    expect(asked()).toEqual([]);
    await printed.locator("summary").click();
    await printed.getByText("09:00:01.250  chunk 132  row 218: volatility NaN").waitFor();
    await printed.getByText(`2 more lines: leasefold logs ${run} --chunk 132`).waitFor();
    expect(asked()).toHaveLength(1);
  });

  test("a run that ended leads with its answer, or else with its failures, and its breadcrumbs name it", async () => {
    for (const [run, first] of [
      ["primes-done", ["Result", "Progress and leaders", "Packs"]],
      ["risk-2026-11", ["Failures", "Progress and leaders", "Packs"]],
      ["unplanned", ["Failures"]],
      ["sweep-million", ["Progress and leaders", "Packs", "Failures"]],
    ] as const) {
      const page = await open(`/runs/${run}`);
      await page.getByRole("heading", { name: first.at(-1) ?? "", exact: true }).waitFor();
      const headings = async () => (await page.locator(".main h2").allInnerTexts()).slice(0, first.length);
      await expect.poll(headings).toEqual(first);
      const crumbs = page.getByRole("navigation", { name: "Breadcrumbs" });
      await crumbs.locator("[aria-current=page]").getByText(run, { exact: true }).waitFor();
      // Only a run at work has a bar: that of another would tell success or failure a second time.
      const bars = () => page.getByRole("progressbar").count();
      await expect.poll(bars).toBe(run === "sweep-million" ? 1 : 0);
    }
  });

  test("the answer of a run that ended is there at once, its numbers large and with their digits in groups", async () => {
    const page = await open("/runs/primes-done");
    const answer = page.getByRole("region", { name: "Result", exact: true });
    await answer.getByText("4,118,054,813").waitFor();
    expect(
      await answer
        .locator(".figures dd")
        .first()
        .evaluate((one) => getComputedStyle(one).fontSize),
    ).toBe("22px");
  });

  test("the first page says what became of the night, what failed first, and the command that helps", async () => {
    const page = await open("/");
    await page.getByRole("heading", { name: "37 complete, 3 failed, $1.07 since yesterday" }).waitFor();
    const failed = page.getByRole("region", { name: "Needs attention" }).getByRole("listitem");
    expect((await failed.allInnerTexts()).map((text) => text.replace(/\s+/g, " "))).toEqual([
      expect.stringMatching(
        /^failed power-curve-2026-11-22 .* was changed .* leasefold submit power-curve … --reuse/,
      ),
      expect.stringMatching(
        /^failed equity-stress-2026-11-22 .* deadline of 2 h leasefold retry equity-stress/,
      ),
      expect.stringMatching(
        /^failed fx-greeks-2026-11-22 .* RangeError: .* leasefold retry fx-greeks-2026-11-22/,
      ),
    ]);
    const rows = page.locator("table.series tbody tr");
    await expect.poll(() => rows.count()).toBe(40);
    expect((await rows.locator(".c-state").allInnerTexts()).slice(0, 4)).toEqual([
      "failed",
      "failed",
      "failed",
      "complete",
    ]);
    // What is not as in the nights before stands out: one took longer, and one has another result.
    const odd = await rows.locator("td .tone-warn").allInnerTexts();
    expect(odd).toEqual([expect.stringMatching(/ s$/), "differs"]);
    await page.getByRole("link", { name: "fx-greeks-2026-11-22" }).click();
    await page.getByRole("heading", { name: "fx-greeks-2026-11-22" }).waitFor();
    await page.getByRole("link", { name: "Overview" }).click();
    await page.getByLabel("Since").selectOption("3d");
    await page
      .getByRole("heading", { name: /^117 complete, 3 failed, \$3\.\d\d in the last 3 d$/ })
      .waitFor();
  });

  test("a failure on the first page is retried there, after a word on what that computes", async () => {
    const page = await open("/");
    const failed = page.getByRole("region", { name: "Needs attention" });
    await expect.poll(() => failed.getByRole("button", { name: /^Retry / }).count()).toBe(2);
    await failed.getByRole("button", { name: "Retry fx-greeks-2026-11-22 …" }).click();
    const dialog = page.getByRole("dialog", { name: "Retry fx-greeks-2026-11-22?" });
    await dialog.getByText(/^Computes 58 packs/).waitFor();
    await dialog.getByRole("button", { name: "Retry 58 packs" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(fixture.requests.map(({ method, path }) => `${method} ${path}`)).toContain(
      "POST runs/fx-greeks-2026-11-22/retry",
    );
  });

  test("what the code of a run prints is followed while it works, and read only once it is opened", async () => {
    const page = await open("/runs/sweep-million");
    const asked = () => fixture.requests.filter(({ path }) => path.includes("/logs")).map(({ path }) => path);
    const panel = page.locator("details", { hasText: "What its code printed" });
    await panel.waitFor();
    expect(asked()).toEqual([]);
    await panel.locator("summary").click();
    await panel.getByText("row 218: volatility NaN").waitFor();
    await expect.poll(() => asked().length).toBeGreaterThan(2);
    expect(asked().slice(0, 2)).toEqual([
      "runs/sweep-million/logs?max=500",
      "runs/sweep-million/logs?max=500&since=2026-11-22T09:00:01.000Z",
    ]);
    // Attempts that were told twice are shown once.
    expect((await panel.innerText()).match(/volatility NaN/g)).toHaveLength(1);
  });

  test("a file that a result lists is saved under its number, and not at all if its hash differs", async () => {
    const page = await open("/runs/trips-files");
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download 00000000.parquet" }).click();
    expect((await downloading).suggestedFilename()).toBe("00000000.parquet");
    await page.getByRole("button", { name: "Download 00000001.parquet" }).click();
    await page.getByText("00000001.parquet: the hash differs, and nothing was saved").waitFor();
  });

  test("the list names the parameters of each run, and a bar of a run that failed is not green", async () => {
    const page = await open("/runs");
    await page.getByText("primes to=100000000000 from=0").first().waitFor();
    const color = (run: string) =>
      page
        .locator("tr", { hasText: run })
        .locator(".bar .done")
        .evaluate((one) => getComputedStyle(one).backgroundColor);
    expect(await color("risk-2026-11")).not.toBe(await color("primes-done"));
    expect(await page.locator(".c-cost").allInnerTexts()).toEqual(
      expect.arrayContaining(["$0.0132", "$0.0002", "$0.0281"]),
    );
  });

  test("an address leads to the generation and the shard that it names", async () => {
    const page = await open("/runs/mandelbrot-poster?gen=1&shard=3");
    await page.getByText("This is the result of generation 1").waitFor();
    await page.getByRole("button", { name: "Shard 3 ×" }).waitFor();
    await page.getByRole("slider").focus();
    await expect.poll(() => page.getByRole("slider").getAttribute("aria-valuetext")).toContain("(shard 3)");
    const paths = () => fixture.requests.map(({ path }) => path);
    await expect.poll(paths).toContain("runs/mandelbrot-poster/manifest?generation=1");
  });

  test("a page says that its result is of an older generation than the newest, which was cancelled", async () => {
    const page = await open("/runs/options-old");
    await page.getByText("This result is of generation 1; generation 2 was cancelled.").waitFor();
    const generations = page.getByRole("combobox", { name: "Generation of the result" });
    await expect.poll(() => generations.inputValue()).toBe("1");
    await generations.selectOption("2");
    await page.getByText("This result is of generation 1").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Fold what is done" }).waitFor();
    expect(fixture.requests.filter(({ path }) => path.includes("manifest?"))).toEqual([]);
  });

  test("text of a hostile calculation, caller or file stays text", async () => {
    for (const [route, shows] of [
      ["/runs/hostile", "Failures"],
      ["/system/leasefold-packs-poison", "not decoded"],
      [`/submit?calculation=${encodeURIComponent(hostileText)}`, "Parameters"],
      ["/submit?from=hostile", "Parameters"],
      [`/runs/${encodeURIComponent(hostileText)}`, "There is no run of this id"],
    ] as const) {
      const page = await open(route, { answered: [404] });
      await page.getByText(shows).first().waitFor();
      if (route === "/runs/hostile") {
        await page.getByText("Checked in this browser").waitFor();
      }
      await page.waitForLoadState("networkidle");
      await expect.poll(() => page.locator("main").innerText()).toContain("onerror=");
      const dangerous =
        "main img:not(.picture), main script, main iframe, main object, [onerror], [onload], [href^='javascript:' i]";
      expect(await page.locator(dangerous).count()).toBe(0);
      expect(await page.evaluate(() => "hacked" in window)).toBe(false);
    }
  });

  test("a small file is uploaded with its progress and becomes the source, and earlier uploads are offered", async () => {
    const page = await open("/submit?calculation=inventory");
    // What must be given comes first, under the name that the command line has.
    const labels = page.locator(".fields .field label");
    await expect.poll(() => labels.first().innerText()).toBe("--source required");
    await page.locator(".fields").first().getByText("64 KiB to 1 GiB").first().waitFor();
    expect(await page.locator("option[value=primes]").innerText()).toBe(
      "primes: Counts the primes of a range with a segmented sieve.",
    );
    await expect
      .poll(() =>
        page.locator("datalist option").evaluateAll((all) => all.map((one) => one.getAttribute("value"))),
      )
      .toEqual(["leasefold-inputs/birds/"]);
    const [a, b] = ["a b.csv", "b.csv"].map((name) => ({
      name,
      mimeType: "text/csv",
      buffer: Buffer.from("x\n1\n"),
    }));
    if (a === undefined || b === undefined) throw new Error("two files");
    const upload = page.getByLabel("Upload files …");
    const source = page.getByLabel("--source", { exact: false }).first();
    await upload.setInputFiles(a);
    await expect.poll(() => source.inputValue()).toMatch(/^leasefold-inputs\/\d{8}-\d{6}\/a b\.csv$/);
    await upload.setInputFiles([a, b]);
    await expect.poll(() => source.inputValue()).toMatch(/^leasefold-inputs\/\d{8}-\d{6}\/$/);
    expect(changes()).toEqual(
      Array.from({ length: 3 }, () => expect.stringMatching(/^POST uploads\/.*x\n1$/)),
    );
  });

  test("what the app refuses is told at its field", async () => {
    const page = await open("/submit?calculation=primes", { answered: [400] });
    await page.getByLabel("--to", { exact: true }).fill("13");
    await page.getByRole("button", { name: "Submit", exact: true }).click();
    await page.locator(".field", { hasText: "count primes up to" }).getByText("to: 13 is unlucky").waitFor();
    await page.getByLabel("--to", { exact: true }).fill("1e6");
    await page.getByRole("button", { name: "As JSON" }).click();
    const json = page.getByLabel("Parameters as JSON");
    await expect.poll(() => json.inputValue()).toBe('{\n  "to": 1000000\n}');
    await page.getByRole("button", { name: "Submit", exact: true }).click();
    await page.getByRole("heading", { name: "primes-new" }).waitFor();
    // The id is drawn by the page, so that a request whose answer is lost can be repeated.
    expect(changes().at(-1)).toMatch(
      /^POST runs {"calculation":"primes","params":{"to":1000000},"id":"primes-\d{8}-[0-9a-f]{8}"}$/,
    );
  });

  test("figures that are no longer confirmed are called stale, and come back by themselves", async () => {
    const page = await open("/runs/sweep-million", { answered: [503] });
    await page.getByText("412,345").first().waitFor();
    fixture.broken = true;
    await page
      .getByText(/Stale: last read/)
      .first()
      .waitFor();
    expect(await page.getByText("412,345").count()).toBeGreaterThan(0);
    fixture.broken = false;
    await page
      .getByText(/Stale: last read/)
      .first()
      .waitFor({ state: "detached" });
  });
});
