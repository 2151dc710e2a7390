import { registerApi } from "./functions/api/registerApi.ts";
import { type App, makeApp, settingsOf } from "./functions/app.ts";
import { watchLifecycle } from "./functions/lifecycle.ts";
import { registerTriggers } from "./functions/registerTriggers.ts";
import { messageOf } from "./model/errors.ts";
import { version } from "./model/version.ts";

/**
 * What the Functions host loads: registers every function. A wrong setting stops the start with one line that
 * names it. Nothing is asked of storage before the first trigger, so that an account which is away for a moment
 * costs an invocation and not the process.
 */
try {
  const settings = settingsOf(process.env);
  const lifecycle = watchLifecycle();
  const getApp = once(() => makeApp(process.env, settings, process.cwd()));
  registerTriggers(settings.LEASEFOLD_NAMESPACE, getApp, lifecycle);
  registerApi(async () => (await getApp()).client, {
    version,
    instance: settings.LEASEFOLD_INSTANCE ?? "-",
    lastTickAgeMs: lifecycle.lastTickAgeMs,
  });
} catch (error) {
  console.error(`Leasefold cannot start: ${messageOf(error)}`);
  throw error;
}

/** Made on first use and kept; made again after a failure. */
function once(make: () => Promise<App>): () => Promise<App> {
  let made: Promise<App> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}
