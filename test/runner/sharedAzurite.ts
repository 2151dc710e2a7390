import type { TestProject } from "vitest/node";
import { startAzurite } from "../../packages/cli/local/azurite.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Connection string of the one emulator of a project; each test has names of its own in it. */
    readonly azurite: string;
  }
}

/** Starts one emulator for all files of a project that need no emulator of their own. */
// biome-ignore lint/style/noDefaultExport: vitest calls the default export.
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const azurite = await startAzurite();
  project.provide("azurite", azurite.connectionString);
  return () => azurite.stop();
}
