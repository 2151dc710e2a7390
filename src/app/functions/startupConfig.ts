import { existsSync, readFileSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { dataStorageFrom, storageHostIn } from "../../azure/dataStorage.ts";
import { electionFrom } from "../../election/settings.ts";
import { namedFiles, withPackaged } from "../../engine/calculation/ownFiles.ts";
import { ConfigError } from "../../engine/model/errors.ts";
import { packLimitOf, readHostSettings } from "../../engine/model/hostSettings.ts";
import { readSettings } from "../../engine/model/settings.ts";

/** Start-up configuration of a process. */
export type StartupConfig = ReturnType<typeof readStartupConfig>;

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Reads and checks the settings once at start, without a storage call. Throws `ConfigError`: a wrong setting stops the
 * start with one line that names it.
 */
export function readStartupConfig(env: Env, calculations: string | undefined) {
  if (calculations !== undefined && !isFolder(calculations))
    throw new ConfigError("no-calculations", `calculations: there is no folder ${calculations}`);
  const appDir = findAppDir(calculations ?? import.meta.dirname);
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
    /** Absolute paths of the user's calculations, in the app's folder for them or named by a setting. */
    files: withPackaged(namedFiles(settings.LEASEFOLD_CALCULATIONS, appDir), calculations),
  };
}

/**
 * What the host itself calls this instance (Azure/azure-functions-host, EnvironmentExtensions.GetInstanceId): on Flex and
 * Linux Consumption the pod or the container, elsewhere the instance of App Service, a long number.
 */
export const hostInstance = (env: Env): string | undefined =>
  env["WEBSITE_POD_NAME"] || env["CONTAINER_NAME"] || env["WEBSITE_INSTANCE_ID"]?.slice(0, 12) || undefined;

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** The nearest folder at or above this one that has `host.json`, or else the working directory. */
function findAppDir(from: string): string {
  if (existsSync(join(from, "host.json"))) return from;
  return dirname(from) === from ? process.cwd() : findAppDir(dirname(from));
}
