import type { TestProject } from "vitest/node";
import { startChromium } from "./chromium.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the tests' one browser is, or why there is none. */
    readonly chromium: { readonly endpoint: string } | { readonly why: string };
  }
}

/** Starts one browser for all test files of the project: several that unpack it at once would disturb each other. */
// biome-ignore lint/style/noDefaultExport: vitest calls the default export.
export default async function setUp(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const server = await startChromium();
  if ("why" in server) {
    const fate = process.env["LEASEFOLD_BROWSER"] === "required" ? "fail" : "are skipped";
    console.log(`browser tests ${fate}, because no Chromium runs here: ${server.why}`);
    project.provide("chromium", server);
    return undefined;
  }
  project.provide("chromium", { endpoint: server.wsEndpoint() });
  return () => server.close();
}
