import { existsSync } from "node:fs";
import chromium from "@sparticuz/chromium";
import { type BrowserServer, chromium as driver } from "playwright-core";

/** Nothing of this talks to the network or needs a graphics card. */
const args = [
  ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
  ...["--disable-component-update", "--disable-sync", "--hide-scrollbars", "--force-color-profile=srgb"],
];

/**
 * Starts a Chromium: the one of `LEASEFOLD_CHROMIUM`, of the system, or of the package, which unpacks into the temporary
 * folder. Where none can run, says why.
 */
export async function startChromium(): Promise<BrowserServer | { readonly why: string }> {
  try {
    const told = process.env["LEASEFOLD_CHROMIUM"];
    if (told !== undefined && !existsSync(told)) return { why: `LEASEFOLD_CHROMIUM names no file: ${told}` };
    const found = [told, "/usr/bin/chromium"].find((one) => one !== undefined && existsSync(one));
    const executablePath = found ?? (await chromium.executablePath());
    return await driver.launchServer({ executablePath, headless: true, args });
  } catch (error) {
    return { why: error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error) };
  }
}
