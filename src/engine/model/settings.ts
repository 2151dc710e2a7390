import * as z from "zod";
import packageJson from "../../../package.json" with { type: "json" };
import { dollarText } from "./decode.ts";
import { ConfigError } from "./errors.ts";
import { namePattern } from "./identity.ts";
import { namespaceCharactersMax, namespacePattern } from "./names.ts";
import { flexBilling } from "./prices.ts";
import { listed, mayBeNamed, mayBeNamedRule } from "./userEnv.ts";

/** The version of this build. */
export const version: string = packageJson.version;

const whole = (minimum: number, maximum: number) => z.coerce.number().int().min(minimum).max(maximum);
/** Names with commas between them. Containers of the service itself may begin with `$`. */
const names = (pattern: RegExp, rule: string) =>
  z
    .string()
    .transform(listed)
    .refine((all) => all.every((one) => pattern.test(one)), rule);
const flag = z.enum(["true", "false"]).transform((text) => text === "true");

/**
 * All settings of the app with range and default; docs/OPERATIONS.md says what they mean, and a test compares. Data storage is
 * `DataStorage` (a connection string) or `DataStorage__blobServiceUri` and `DataStorage__queueServiceUri` with
 * `DataStorage__credential` and `DataStorage__clientId`.
 */
export const settingsSchema = z.object({
  LEASEFOLD_NAMESPACE: z
    .string()
    .max(namespaceCharactersMax)
    .regex(namespacePattern, "use lower-case letters, digits and single dashes, beginning with a letter")
    .default("leasefold"),
  // Some hosts on Flex do not start with five fields (github.com/Azure/azure-functions-host/issues/11555).
  LEASEFOLD_SCHEDULE: z
    .string()
    .regex(/^\s*(\S+\s+){5}\S+\s*$/, "use six fields, the first for seconds")
    .default("0 * * * * *"),
  LEASEFOLD_INSTANCE: z.string().optional(),
  LEASEFOLD_REGION: z.string().optional(),
  LEASEFOLD_CALCULATIONS: z.string().optional(),
  LEASEFOLD_ONLY: names(namePattern, "use names of calculations").optional(),
  LEASEFOLD_SOURCES: names(/^[a-z0-9$][a-z0-9-]{2,62}$/, "use names of containers").optional(),
  LEASEFOLD_ENV: names(mayBeNamed, mayBeNamedRule).optional(),
  LEASEFOLD_ENDED_QUEUE: z
    .string()
    .regex(/^(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*$/, "use the name of a queue")
    .optional(),
  LEASEFOLD_LEASE_S: whole(15, 60).default(15),
  LEASEFOLD_BUDGET_S: whole(30, 3_000_000).default(300),
  LEASEFOLD_LOOP_MS: whole(50, 60_000).default(2_000),
  LEASEFOLD_LOOP_FAST_MS: whole(50, 60_000).default(100),
  LEASEFOLD_PACK_LIMIT_S: whole(1, 86_400).default(300),
  LEASEFOLD_MAX_COST: dollarText.optional(),
  LEASEFOLD_KEEP_DAYS: z.coerce.number().min(0).max(36_500).default(30),
  LEASEFOLD_THREADS: whole(1, 256).optional(),
  LEASEFOLD_PLAN_WORKERS: z
    .string()
    .regex(
      /^([1-9]\d{0,4}|100000)( .{1,80})?$/,
      "use a whole number up to 100000, and behind it whose they are",
    )
    .optional(),
  LEASEFOLD_THREAD_MEMORY_MB: whole(16, 65_536).default(512),
  LEASEFOLD_INSTANCE_MEMORY_MB: whole(1, 1_048_576).default(flexBilling.memoryMb),
  LEASEFOLD_EARLY_TAKEOVER: z.enum(["true", "false", "fast"]).default("true"),
  LEASEFOLD_READ_ONLY: flag.default(false),
  LEASEFOLD_RESULT_LINKS: flag.default(false),
  LEASEFOLD_WATCH: flag.default(false),
});
export type Settings = z.infer<typeof settingsSchema>;

/** Decodes the settings of an environment; throws `ConfigError` naming the setting, its value and the rule. */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const given = Object.fromEntries(
    Object.keys(settingsSchema.shape).flatMap((name) => (env[name] ? [[name, env[name]]] : [])),
  );
  const decoded = settingsSchema.safeParse(given);
  if (decoded.success) return decoded.data;
  const issue = decoded.error.issues[0];
  const name = String(issue?.path[0]);
  throw new ConfigError("bad-setting", `${name}=${env[name]}: ${issue?.message}`);
}
