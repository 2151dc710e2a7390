import axe, { type AxeResults } from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { inject } from "vitest";
import { patienceMs } from "../../../../test/support/patience.ts";

/** The browser of the project, if one runs here. Where one is required, the tests fail without it. */
const known = inject("chromium");
export const missing = "why" in known && process.env["LEASEFOLD_BROWSER"] !== "required";

let shared: Promise<Browser> | undefined;
const browser = (): Promise<Browser> => {
  if ("why" in known) throw new Error(`no Chromium runs here: ${known.why}`);
  shared ??= chromium.connect(known.endpoint);
  return shared;
};
export const disconnect = async (): Promise<void> => (await shared)?.close();

/** A page in a context of its own, and everything that went wrong in it. */
export interface Visit {
  readonly page: Page;
  /** Errors of the console, of scripts and of the content security policy. */
  readonly problems: string[];
  close(): Promise<void>;
}

/**
 * Opens an address. `answered` are statuses of failed requests that the test itself causes. With
 * `clock` its time passes only as the test says.
 */
export async function visit(
  url: string,
  options: BrowserContextOptions & { readonly answered?: readonly number[]; readonly clock?: boolean } = {},
): Promise<Visit> {
  const { answered = [], clock = false, ...context } = options;
  const size = { viewport: { width: 1280, height: 900 }, reducedMotion: "reduce" } as const;
  const own = await (await browser()).newContext({ ...size, ...context });
  own.setDefaultTimeout(patienceMs);
  const page = await own.newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(`script: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() !== "error" && message.type() !== "warning") return;
    const expected = answered.some((status) => message.text().includes(`status of ${status}`));
    if (!expected) problems.push(`console: ${message.text()}`);
  });
  await page.exposeFunction("tellViolation", (text: string) => problems.push(`policy: ${text}`));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
      const { tellViolation } = window as unknown as { readonly tellViolation: (text: string) => void };
      tellViolation(`${violatedDirective} ${blockedURI}`);
    });
  });
  if (clock) await page.clock.install();
  await page.goto(url);
  await page.locator("h1").first().waitFor();
  return { page, problems, close: () => own.close() };
}

const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** What axe finds wrong on the page as it is, with the elements; only some rules, if asked. */
export async function axeFindings(page: Page, rules?: readonly string[]): Promise<string[]> {
  const runOnly = rules === undefined ? { type: "tag", values: tags } : { type: "rule", values: rules };
  await page.evaluate(axe.source);
  const results = (await page.evaluate(
    (options) => {
      const { axe: inPage } = window as unknown as {
        readonly axe: { run(options: object): Promise<unknown> };
      };
      return inPage.run(options);
    },
    { runOnly, resultTypes: ["violations"] },
  )) as AxeResults;
  return results.violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 140)).join(" | ")}`,
  );
}
