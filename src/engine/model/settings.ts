import * as z from "zod";
import packageJson from "../../../package.json" with { type: "json" };
import { ConfigError } from "./errors.ts";
import { namespaceCharactersMax, namespacePattern } from "./names.ts";

/** The version of this build. */
export const version: string = packageJson.version;

const whole = (minimum: number, maximum: number) => z.coerce.number().int().min(minimum).max(maximum);
/** Names of containers; the service's own may begin with `$`. */
const containers = z
  .string()
  .transform((text) => text.split(",").flatMap((one) => (one.trim() === "" ? [] : [one.trim()])))
  .refine((names) => names.every((one) => /^[a-z0-9$][a-z0-9-]{2,62}$/.test(one)), "use names of containers");
const flag = z.enum(["true", "false"]).transform((text) => text === "true");

/**
 * All settings of the app, with unit, default and meaning; a test compares the README's table. Data storage is
 * `DataStorage` (a connection string) or `DataStorage__blobServiceUri` and `DataStorage__queueServiceUri` with
 * `DataStorage__credential` and `DataStorage__clientId`.
 */
export const settingsSchema = z.object({
  LEASEFOLD_NAMESPACE: z
    .string()
    .max(namespaceCharactersMax)
    .regex(namespacePattern, "use lower-case letters, digits and single dashes, beginning with a letter")
    .default("leasefold")
    .describe("prefix of every container and queue"),
  LEASEFOLD_SCHEDULE: z
    .string()
    .default("0 * * * * *")
    .describe("when each instance races for the lease, NCRONTAB with seconds"),
  LEASEFOLD_INSTANCE: z
    .string()
    .optional()
    .describe("name of this instance in the lease record; the host's own id by default"),
  LEASEFOLD_REGION: z.string().optional().describe("region shown in the lease record"),
  LEASEFOLD_CALCULATIONS: z
    .string()
    .optional()
    .describe("files of your own calculations, separated by commas"),
  LEASEFOLD_SOURCES: containers
    .optional()
    .describe("containers that calculations may read beside the one of inputs, separated by commas"),
  LEASEFOLD_LEASE_S: whole(15, 60).default(15).describe("length of the blob lease, seconds"),
  LEASEFOLD_BUDGET_S: whole(30, 3_000_000)
    .default(300)
    .describe("longest time one invocation leads, seconds"),
  LEASEFOLD_LOOP_MS: whole(50, 60_000).default(2_000).describe("pause between two polls of the leader, ms"),
  LEASEFOLD_LOOP_FAST_MS: whole(50, 60_000)
    .default(100)
    .describe("the same in the first ten seconds of a run and for its last packs, ms"),
  LEASEFOLD_PACK_LIMIT_S: whole(1, 86_400)
    .default(300)
    .describe("time limit of one attempt of a pack, seconds"),
  LEASEFOLD_KEEP_DAYS: z.coerce
    .number()
    .min(0)
    .max(36_500)
    .default(30)
    .describe("finished runs are deleted after so many days; 0 keeps them for ever"),
  LEASEFOLD_THREADS: whole(1, 256)
    .optional()
    .describe("worker threads of an instance; batchSize + newBatchThreshold of host.json by default"),
  LEASEFOLD_THREAD_MEMORY_MB: whole(16, 65_536)
    .default(512)
    .describe("heap of one worker thread, MB; its Buffers may have 128 MB more"),
  LEASEFOLD_EARLY_TAKEOVER: z
    .enum(["true", "false", "fast"])
    .default("true")
    .describe(
      "depose a leader that stopped beating before its lease runs out; fast: twice the beats and polls",
    ),
  LEASEFOLD_READ_ONLY: flag
    .default(false)
    .describe("page and HTTP API refuse every request that is not a read"),
  LEASEFOLD_WATCH: flag
    .default(false)
    .describe("poll for a dead leader twice a second (for embedded instances)"),
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
