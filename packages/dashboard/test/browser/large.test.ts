import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { many } from "./fixture/fixtureRuns.ts";
import { type Fixture, startFixture } from "./fixture/fixtureServer.ts";
import { disconnect, missing, visit } from "./visits.ts";

/** A run of a million packs and a list of 5,000 runs: what grows is counted, not timed, wherever it can be. */
let fixture: Fixture;
const address = (route: string): string => `${fixture.url}/api/ui#token=${fixture.key}&${route}`;

const nodesMax = 1_500;
const nodes = () => document.querySelectorAll("*").length;

describe.skipIf(missing)("on the fixture", () => {
  beforeAll(async () => {
    fixture = await startFixture();
  });
  afterAll(async () => {
    await fixture?.stop();
    await disconnect();
  });

  test("a run of a million packs is one picture of at most 2,000 cells and few elements, also as a table", async () => {
    const { page, problems, close } = await visit(address("/runs/sweep-million"));
    await page.getByRole("slider").waitFor();
    const cells = Number(await page.getByRole("slider").getAttribute("aria-valuemax"));
    expect([cells > 1_000, cells <= 2_000]).toEqual([true, true]);
    await page.locator("summary", { hasText: "Cells as a table" }).click();
    await page.getByRole("region", { name: "Cells of the pack map" }).waitFor();
    expect(await page.evaluate(nodes)).toBeLessThan(nodesMax);
    // The picture holds what the map says: some of it is in the color of done packs.
    const colors = await page
      .locator(".map path")
      .evaluateAll((paths) =>
        paths.flatMap((path) => (path.getAttribute("d") === "" ? [] : [getComputedStyle(path).fill])),
      );
    expect(colors).toContain("rgb(63, 154, 112)");
    expect(colors).toContain("rgb(230, 231, 235)");
    expect(problems).toEqual([]);
    await close();
  });

  test("a run of a million packs costs the page little at first, less with each poll, and no memory", async () => {
    const { page, close } = await visit(address("/system"), { clock: true });
    const session = await page.context().newCDPSession(page);
    // Time of the page's own thread, which other processes of the machine do not change.
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    const cpuMs = async (): Promise<number> => {
      const { metrics } = await session.send("Performance.getMetrics");
      return 1_000 * (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN);
    };
    /** What is still at work when the machine is busy is no growth: the least of some looks. */
    const heap = async (): Promise<number> => {
      const sizes: number[] = [];
      for (let look = 0; look < 4; look += 1) {
        await session.send("HeapProfiler.collectGarbage");
        sizes.push((await session.send("Runtime.getHeapUsage")).usedSize);
        await page.waitForTimeout(250);
      }
      return Math.min(...sizes);
    };
    await page.getByText("node-2 leads").waitFor();
    // The browser's own notes of requests, at most 250, are not the page's memory.
    await page.evaluate(() => performance.setResourceTimingBufferSize(0));
    const loadMs = async (run: string): Promise<number> => {
      const from = await cpuMs();
      await page.evaluate((to) => location.assign(`#/runs/${to}`), run);
      await page.getByRole("heading", { name: run }).waitFor();
      await page.getByRole("slider").waitFor();
      return (await cpuMs()) - from;
    };
    const loads: { few: number; million: number }[] = [];
    for (let time = 0; time < 3; time += 1)
      loads.push({ few: await loadMs("primes-live"), million: await loadMs("sweep-million") });
    const million = loads.map((one) => one.million);
    // As much as a run of 145 packs, where drawing each pack would cost a thousand times as much.
    expect(Math.min(...million)).toBeLessThan(4 * Math.max(...loads.map(({ few }) => few)));

    const view = fixture.runs.get("sweep-million");
    if (view?.packs === undefined) throw new Error("the fixture has no such run");
    const { packs } = view;
    const steps: number[] = [];
    /** A second passes, in which more packs are done: a poll, and every third time the map and the timeline. */
    const step = async (number: number): Promise<void> => {
      const done = packs.done + number * 500;
      fixture.runs.set(view.run, { ...view, packs: { ...packs, done } });
      fixture.nowMs += 1_000;
      const from = await cpuMs();
      await page.clock.fastForward(1_000);
      await page
        .locator(".run-header .figures")
        .getByText(`${done.toLocaleString("en-US")} / 1,000,000`)
        .waitFor();
      steps.push((await cpuMs()) - from);
    };
    for (let number = 1; number <= 20; number += 1) await step(number);
    const before = { heap: await heap(), nodes: await page.evaluate(nodes) };
    for (let number = 21; number <= 70; number += 1) await step(number);
    const after = { heap: await heap(), nodes: await page.evaluate(nodes) };
    expect(after.nodes - before.nodes).toBeLessThan(60);
    expect(after.heap - before.heap).toBeLessThan(300_000);
    // About a third of a load.
    const mean = steps.reduce((sum, one) => sum + one, 0) / steps.length;
    expect(mean).toBeLessThan(0.6 * Math.max(...million));
    await close();
  });

  test("a list of 5,000 runs is shown a page at a time, and each run is on exactly one page", async () => {
    fixture.list = many;
    const { page, problems, close } = await visit(address("/runs?cursor=4850"));
    await page.getByText("sweep-0149", { exact: true }).waitFor();
    expect(await page.evaluate(nodes)).toBeLessThan(nodesMax);
    const seen = new Set<string>();
    for (const last of ["sweep-0100", "sweep-0050", "sweep-0000"]) {
      await page.getByText(last, { exact: true }).waitFor();
      for (const name of await page.locator(".c-run a").allInnerTexts()) seen.add(name);
      if (last !== "sweep-0000") await page.getByRole("link", { name: "Older" }).click();
    }
    expect(seen.size).toBe(150);
    await page.getByRole("link", { name: "Older" }).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Newest" }).click();
    await page.getByText("sweep-4999", { exact: true }).waitFor();
    expect(problems).toEqual([]);
    await close();
  });

  test("a hidden tab asks nothing, and an open run is asked for about once a second with its ETag", async () => {
    const { page, close } = await visit(address("/runs/primes-live"));
    await page.getByRole("slider").waitFor();
    const polls = () => fixture.requests.filter(({ path }) => path === "runs/primes-live").length;
    const [before, fromMs] = [polls(), performance.now()];
    await expect.poll(() => polls() - before).toBeGreaterThanOrEqual(3);
    expect(polls() - before).toBeLessThanOrEqual((performance.now() - fromMs) / 1_000 + 2);
    await page.evaluate(() => {
      Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    });
    await page.waitForTimeout(2_000);
    const hidden = fixture.requests.length;
    await page.waitForTimeout(2_500);
    expect(fixture.requests.length).toBe(hidden);
    await close();
  });
});
