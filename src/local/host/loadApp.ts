import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import * as z from "zod";
import { ConfigError, messageOf } from "../../model/errors.ts";
import type { LogLevel } from "../instanceMessages.ts";
import {
  installCoreModule,
  makeCoreModule,
  type ProgrammingModel,
  type Registrations,
} from "./coreModule.ts";

const packageSchema = z.object({ main: z.string().min(1) });

export interface LoadedApp {
  readonly registrations: Registrations;
  readonly model: ProgrammingModel;
}

/**
 * Loads the app of a folder: the file named by `main` in its `package.json` (one plain path; the real worker also
 * takes a glob), whose functions register themselves. Throws `ConfigError` where nothing could run; the real
 * worker would start an app without any function in that case.
 */
export async function loadApp(
  appDir: string,
  log: (level: LogLevel, message: string) => void,
): Promise<LoadedApp> {
  const file = resolve(appDir, await mainOf(appDir));
  const { module, registrations } = makeCoreModule(log);
  installCoreModule(module);
  try {
    await import(pathToFileURL(file).href);
  } catch (cause) {
    const missing = (cause as { code?: unknown }).code === "ERR_MODULE_NOT_FOUND";
    const hint = missing ? " (is the app built? npm run build)" : "";
    throw new ConfigError("app-not-loaded", `${file} could not be loaded: ${messageOf(cause)}${hint}`, {
      cause,
    });
  }
  registrations.close();
  const model = registrations.model();
  if (!model || registrations.functions.size === 0) {
    throw new ConfigError("no-functions", `${file} registers no function`);
  }
  const capabilities = await model.getCapabilities({});
  if (capabilities["HttpUri"] !== undefined) {
    throw new ConfigError("http-streams", "enableHttpStream is not supported by embedded instances");
  }
  return { registrations, model };
}

async function mainOf(appDir: string): Promise<string> {
  const file = join(appDir, "package.json");
  try {
    return packageSchema.parse(JSON.parse(await readFile(file, "utf8"))).main;
  } catch (cause) {
    throw new ConfigError("bad-package-json", `${file} names no "main" file: ${messageOf(cause)}`, { cause });
  }
}
