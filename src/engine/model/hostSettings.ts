import * as z from "zod";
import { ConfigError } from "./errors.ts";
import type { Settings } from "./settings.ts";

/**
 * The part of `host.json` that Leasefold uses, as the Functions host reads it: with its defaults, with overrides from the
 * environment such as `AzureFunctionsJobHost__extensions__queues__batchSize`, and with case-insensitive names
 * (learn.microsoft.com/azure/azure-functions/functions-host-json). Unlike the host, it refuses comments.
 */
export interface HostSettings {
  /** `Infinity` for "-1". */
  readonly functionTimeoutMs: number;
  readonly queues: {
    /** Messages that a function fetches at once, 1–32. */
    readonly batchSize: number;
    /** The host fetches more when at most this many run, so at most `batchSize` + this run at once. */
    readonly newBatchThreshold: number;
    readonly maxPollingIntervalMs: number;
    /** How long a failed message stays hidden. */
    readonly visibilityTimeoutMs: number;
    readonly maxDequeueCount: number;
    readonly messageEncoding: "none" | "base64";
  };
  /** `routePrefix` has no slashes at its ends and may be empty. */
  readonly http: { readonly routePrefix: string };
}

type Env = Readonly<Record<string, string | undefined>>;

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const overridePrefix = "azurefunctionsjobhost__";
const timespanPattern = /^(?:(\d+)\.)?(\d{1,2}):([0-5]?\d)(?::([0-5]?\d)(?:\.(\d{1,7}))?)?$/;

/**
 * `cores` multiplies the default of `newBatchThreshold`, as in the host outside the Consumption plan. Throws `ConfigError`
 * naming the setting, its value and the rule.
 */
export function readHostSettings(hostJsonText: string, env: Env, cores = 1): HostSettings {
  const given = new Map([...fromHostJson(hostJsonText), ...fromEnvironment(env)]);
  const read = <T>(schema: z.ZodType<T>, path: string): T => {
    const decoded = schema.safeParse(given.get(path.toLowerCase())?.value);
    if (decoded.success) return decoded.data;
    const { name, value } = given.get(path.toLowerCase()) ?? { name: path, value: undefined };
    const rule = decoded.error.issues[0]?.message ?? "not understood";
    throw new ConfigError("bad-host-setting", `${name}=${JSON.stringify(value)}: ${rule}`);
  };

  read(z.literal("2.0", 'host.json needs "version": "2.0"'), "version");
  const batchSize = read(count(1, 32).default(16), "extensions.queues.batchSize");
  const development = env["AZURE_FUNCTIONS_ENVIRONMENT"]?.toLowerCase() === "development";
  return {
    functionTimeoutMs: read(functionTimeout.default(30 * minuteMs), "functionTimeout"),
    queues: {
      batchSize,
      newBatchThreshold: read(
        count(0, 1_000_000).default(Math.floor(batchSize / 2) * cores),
        "extensions.queues.newBatchThreshold",
      ),
      // The host polls faster by default on a developer's machine (azure-webjobs-sdk, QueuesOptions).
      maxPollingIntervalMs: read(
        timespan(100, dayMs).default(development ? 2_000 : minuteMs),
        "extensions.queues.maxPollingInterval",
      ),
      visibilityTimeoutMs: read(timespan(0, 7 * dayMs).default(0), "extensions.queues.visibilityTimeout"),
      maxDequeueCount: read(count(1, 1_000_000).default(5), "extensions.queues.maxDequeueCount"),
      messageEncoding: read(encoding.default("base64"), "extensions.queues.messageEncoding"),
    },
    http: { routePrefix: read(routePrefix.default("api"), "extensions.http.routePrefix") },
  };
}

/** Milliseconds of a .NET time span such as `00:10:00` or `1.00:00:00`; undefined for other texts. */
export function parseTimespan(text: string): number | undefined {
  const match = timespanPattern.exec(text);
  if (!match) return undefined;
  const [, days = "0", hours = "0", minutes = "0", seconds = "0", fraction = "0"] = match;
  // .NET reads "24:00:00" as 24 days, which nobody means, so it is refused.
  if (Number(hours) > 23) return undefined;
  const inMinutes = (Number(days) * 24 + Number(hours)) * 60 + Number(minutes);
  return inMinutes * minuteMs + Number(seconds) * 1_000 + Math.round(Number(`0.${fraction}`) * 1_000);
}

function count(minimum: number, maximum: number) {
  const rule = `a whole number from ${minimum} to ${maximum} is needed`;
  return z
    .union([z.number(), z.string().regex(/^\d+$/).transform(Number)], rule)
    .refine((value) => Number.isInteger(value) && value >= minimum && value <= maximum, rule);
}

function timespan(minimumMs: number, maximumMs: number) {
  const rule = `a time span "hh:mm:ss" of ${minimumMs} ms to ${maximumMs / dayMs} days is needed`;
  return z
    .string(rule)
    .transform((text) => parseTimespan(text) ?? Number.NaN)
    .refine((ms) => ms >= minimumMs && ms <= maximumMs, rule);
}

const timeoutRule = 'a time span "hh:mm:ss" of at least one second, or "-1" for no limit, is needed';
const functionTimeout = z
  .string(timeoutRule)
  .transform((text) => (text === "-1" ? Number.POSITIVE_INFINITY : (parseTimespan(text) ?? Number.NaN)))
  .refine((ms) => ms >= 1_000, timeoutRule);

const encoding = z
  .string()
  .transform((text) => text.toLowerCase())
  .pipe(z.enum(["none", "base64"], '"none" or "base64" is needed'));

const routePrefix = z.string("a text is needed").transform((text) => text.replace(/^\/+|\/+$/g, ""));

/** A value with its name as the user wrote it. */
type Given = { readonly name: string; readonly value: unknown };

function fromHostJson(text: string): [string, Given][] {
  try {
    return leaves(z.record(z.string(), z.unknown()).parse(JSON.parse(text)), []);
  } catch (cause) {
    throw new ConfigError("bad-host-json", "host.json is not a JSON object", { cause });
  }
}

function leaves(node: object, above: readonly string[]): [string, Given][] {
  return Object.entries(node).flatMap(([key, value]): [string, Given][] => {
    const path = [...above, key];
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return leaves(value, path);
    return [[path.join(".").toLowerCase(), { name: path.join("."), value }]];
  });
}

function fromEnvironment(env: Env): [string, Given][] {
  return Object.entries(env).flatMap(([name, value]): [string, Given][] => {
    if (value === undefined || !name.toLowerCase().startsWith(overridePrefix)) return [];
    const path = name.slice(overridePrefix.length).split("__").join(".").toLowerCase();
    return [[path, { name, value }]];
  });
}

/** The time limit of an attempt, which must end and be recorded before the host kills the process. */
export function packLimitOf({ LEASEFOLD_PACK_LIMIT_S }: Settings, host: HostSettings): number {
  const packLimitMs = LEASEFOLD_PACK_LIMIT_S * 1_000;
  if (packLimitMs <= host.functionTimeoutMs / 2) return packLimitMs;
  const timeoutS = host.functionTimeoutMs / 1_000;
  throw new ConfigError(
    "bad-setting",
    `LEASEFOLD_PACK_LIMIT_S=${LEASEFOLD_PACK_LIMIT_S}: must be at most half of functionTimeout (${timeoutS} s)`,
  );
}
