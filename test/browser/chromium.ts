import { existsSync } from "node:fs";
import chromium from "@sparticuz/chromium";
import { type Browser, chromium as driver } from "playwright-core";

/** Where a Chromium is: as told, of the system, or that of the package, which is unpacked into the temporary folder. */
async function executable(): Promise<{ readonly path: string; readonly args: readonly string[] }> {
  const told = process.env["LEASEFOLD_CHROMIUM"];
  const path = [told, "/usr/bin/chromium"].find((one) => one !== undefined && existsSync(one));
  return path === undefined
    ? { path: await chromium.executablePath(), args: chromium.args }
    : { path, args: [] };
}

/** Nothing of this talks to the network or needs a graphics card. */
const quiet = [
  ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
  ...["--disable-component-update", "--disable-sync", "--hide-scrollbars", "--force-color-profile=srgb"],
];

/** A browser, or why none can run here. */
export async function launch(): Promise<Browser | { readonly why: string }> {
  try {
    const { path, args } = await executable();
    // The package's own arguments are for a function host; only those that its build needs are taken.
    const needed = args.filter(
      (one) =>
        /^--(single-process|no-zygote|headless|allow-pre-commit|font)/.test(one) &&
        !one.startsWith("--single-process") &&
        !one.startsWith("--headless"),
    );
    return await driver.launch({ executablePath: path, headless: true, args: [...quiet, ...needed] });
  } catch (error) {
    return { why: error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error) };
  }
}
