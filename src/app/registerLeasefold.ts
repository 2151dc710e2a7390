import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { always } from "../calculations/registry.ts";
import type { AnyCalculation } from "../engine/calculation/contract.ts";
import { messageOf } from "../engine/model/errors.ts";
import { version } from "../engine/model/settings.ts";
import type { AppOptions } from "./appTypes.ts";
import { type App, makeApp } from "./functions/app.ts";
import { watchLifecycle } from "./functions/lifecycle.ts";
import { registerApi } from "./functions/registerApi.ts";
import { leadFor, registerTriggers } from "./functions/registerTriggers.ts";
import { shallowBodies } from "./functions/shallowBodies.ts";
import { readStartupConfig } from "./functions/startupConfig.ts";

/**
 * Registers the timer, the queue triggers and the HTTP API with the Functions host. A wrong setting stops the start with one line
 * that names it. Nothing is asked of storage before the first trigger, so that an account which is away for a moment costs an
 * invocation and not the process.
 */
export function registerLeasefold(
  { calculations }: AppOptions,
  builtIn: readonly AnyCalculation[] = always,
): void {
  const lifecycle = watchLifecycle({
    stopWork: async () => (await made)?.worker.userCode.stop(),
    leave: async () => (await made)?.worker.heartbeats.stop(),
  });
  let made: Promise<App> | undefined;
  let start: (() => Promise<App>) | undefined;
  let isReadOnly = true;
  let holder = "-";
  const readOnly = (): boolean => isReadOnly;
  const lead = leadFor(getApp, lifecycle);

  // Something is registered before the settings are read: a start that fails with nothing registered looks to the
  // host like an app without functions, and the reason is lost.
  registerApi(
    { readOnly, ports: async () => ({ ...(await getApp()).api, lead }) },
    {
      version,
      readOnly,
      instance: () => holder,
      // The build puts it here.
      commit: process.env["BUILD_COMMIT"] || undefined,
      lastTickAgeMs: lifecycle.lastTickAgeMs,
    },
  );
  try {
    const config = readStartupConfig(process.env, pathOf(calculations));
    isReadOnly = config.settings.LEASEFOLD_READ_ONLY;
    holder = config.holder;
    start = () => makeApp(config, builtIn);
    registerTriggers(config.settings.LEASEFOLD_NAMESPACE, getApp, lifecycle);
    shallowBodies();
  } catch (error) {
    console.error(`Leasefold cannot start: ${messageOf(error)}`);
    throw error;
  }

  /** Made on first use and kept; made again after a failure. */
  function getApp(): Promise<App> {
    made ??= (start?.() ?? Promise.reject(new Error("the app did not start"))).catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  }
}

const pathOf = (folder: AppOptions["calculations"]): string | undefined =>
  folder === undefined || typeof folder === "string" ? folder && resolve(folder) : fileURLToPath(folder.href);
