import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type BrowserContextOptions, chromium } from "playwright-core";
import { startChromium } from "./chromium.ts";
import { startFixture } from "./fixture/fixtureServer.ts";
import { recordDemo } from "./pictures/recordDemo.ts";

/**
 * `npm run screenshots [FOLDER [full]]`: the views of the page over the fixture, in light, dark and phone width, and the films of
 * a real demo, for which the machine should be idle.
 */
const folder = process.argv[2] ?? join(import.meta.dirname, "../../../../docs/images");

const wide = { viewport: { width: 1280, height: 860 } };
const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 1.5 };
const dark = { colorScheme: "dark" } as const;

interface Shot {
  readonly name: string;
  readonly route: string;
  readonly context: BrowserContextOptions;
  /** What is pressed before the picture is taken. */
  readonly press?: readonly string[];
}

const shots: readonly Shot[] = [
  { name: "dashboard-night", route: "#/", context: wide },
  { name: "dashboard-runs", route: "#/runs", context: wide },
  { name: "dashboard-run", route: "#/runs/primes-live", context: wide },
  { name: "dashboard-failed", route: "#/runs/risk-2026-11", context: wide },
  {
    name: "dashboard-finished",
    route: "#/runs/primes-done",
    context: { ...wide, ...dark },
    press: ["Compare with the plan"],
  },
  { name: "dashboard-system", route: "#/system", context: wide },
  { name: "dashboard-phone", route: "#/runs/primes-live", context: phone },
];

const server = await startChromium();
if ("why" in server) throw new Error(`no browser can run here: ${server.why}`);
const browser = await chromium.connect(server.wsEndpoint());
const fixture = await startFixture();
await mkdir(folder, { recursive: true });
for (const { name, route, context, press = [] } of shots) {
  const own = await browser.newContext({ ...context, reducedMotion: "reduce" });
  const page = await own.newPage();
  await page.goto(`${fixture.url}/api/ui#token=${fixture.key}&${route.slice(1)}`);
  await page.locator("h1").waitFor();
  await page.waitForLoadState("networkidle");
  for (const text of press) await page.getByRole("button", { name: text }).first().click();
  await page.evaluate(() => window.scrollTo(0, 0));
  await page.waitForTimeout(400);
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: process.argv[3] === "full" });
  await own.close();
}
await fixture.stop();
await recordDemo(browser, folder, ["--to", "5e10"]);
await browser.close();
await server.close();
