import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { dataStorageFrom, storageHostIn } from "../../azure/dataStorage.ts";
import { electionFrom } from "../../election/settings.ts";
import { namedFiles, withPackaged } from "../../engine/calculation/ownFiles.ts";
import { packLimitOf, readHostSettings } from "../../engine/model/hostSettings.ts";
import { readSettings } from "../../engine/model/settings.ts";

/** Start-up configuration of a process. */
export type StartupConfig = ReturnType<typeof readStartupConfig>;

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Reads and checks the settings once at start, without a storage call. Throws `ConfigError`: a wrong setting stops the
 * start with one line that names it.
 */
export function readStartupConfig(env: Env) {
  const appDir = findAppDir();
  const settings = readSettings(env);
  const host = readHostSettings(readFileSync(join(appDir, "host.json"), "utf8"), env);
  return {
    settings,
    host,
    connection: dataStorageFrom(env, storageHostIn(process.argv)),
    election: electionFrom(settings, host),
    packLimitMs: packLimitOf(settings, host),
    /** Name of this instance in the lease record. */
    holder: settings.LEASEFOLD_INSTANCE ?? hostInstance(env) ?? `${hostname()}-${process.pid}`,
    region: settings.LEASEFOLD_REGION ?? env["REGION_NAME"],
    /** Undefined outside Azure. */
    appName: env["WEBSITE_SITE_NAME"],
    /** Absolute paths of the user's calculations, packaged with the app or named by a setting. */
    files: withPackaged(namedFiles(settings.LEASEFOLD_CALCULATIONS, appDir)),
  };
}

/**
 * What the host itself calls this instance (Azure/azure-functions-host, EnvironmentExtensions.GetInstanceId): on Flex and
 * Linux Consumption the pod or the container, elsewhere the instance of App Service, a long number.
 */
export const hostInstance = (env: Env): string | undefined =>
  env["WEBSITE_POD_NAME"] || env["CONTAINER_NAME"] || env["WEBSITE_INSTANCE_ID"]?.slice(0, 12) || undefined;

/** The folder with `host.json`: the parent of the bundle's folder, or else the working directory. */
function findAppDir(): string {
  const above = dirname(import.meta.dirname);
  return existsSync(join(above, "host.json")) ? above : process.cwd();
}
