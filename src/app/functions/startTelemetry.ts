import { messageOf } from "../../engine/model/errors.ts";
import { logEvents } from "../../engine/model/log.ts";
import { version } from "../../engine/model/settings.ts";
import { builtFile } from "../api/page.ts";
import type { openTelemetry, Telemetry } from "../telemetry.ts";
import { alsoTo, log } from "./logTo.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** The settings of OpenTelemetry that name where to send; without any nothing of it is loaded. */
const endpoints = ["", "_TRACES", "_METRICS"].map((signal) => `OTEL_EXPORTER_OTLP${signal}_ENDPOINT`);

const isWanted = (env: Env): boolean =>
  env["OTEL_SDK_DISABLED"]?.toLowerCase() !== "true" && endpoints.some((name) => env[name]);

/** Sends spans and metrics from now on if the settings say where to. A failure is logged, and the app works without. */
export async function startTelemetry(
  env: Env,
  about: { readonly instance: string; readonly region?: string | undefined },
): Promise<Telemetry | undefined> {
  if (!isWanted(env)) return undefined;
  const warn = (message: string) => log(logEvents.telemetryFailed({ message }));
  try {
    const bundle: { readonly openTelemetry: typeof openTelemetry } = await import(builtFile("telemetry.cjs"));
    const telemetry = bundle.openTelemetry({ env, version, ...about, warn });
    alsoTo((event) => telemetry.take(event));
    return telemetry;
  } catch (error) {
    warn(messageOf(error));
    return undefined;
  }
}
