import { messageOf } from "../../model/errors.ts";
import { readSettings, type Settings, settingsSchema } from "../../model/settings.ts";
import { type Finding, findingsOf } from "./finding.ts";

/**
 * The name that differs in the fewest letters, whatever their case, if in at most a third of them; undefined otherwise.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const [nearest] = known
    .map((one) => ({ one, distance: editDistance(name.toLowerCase(), one.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  return nearest !== undefined && nearest.distance <= name.length / 3 ? nearest.one : undefined;
}

/** Letters to insert, delete or exchange (Levenshtein). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const exchange = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(exchange, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The settings: known, well-formed and not in each other's way. Those of a whole app (`ofApp`) must also hold what the
 * Functions host needs; this shell need not.
 */
export function checkSettings(
  env: Env,
  ofApp: boolean,
): {
  readonly findings: readonly Finding[];
  readonly settings?: Settings;
} {
  const { found, ok, wrong, warning } = findingsOf("settings");
  const known = Object.keys(settingsSchema.shape);
  for (const name of Object.keys(env)) {
    if (!name.startsWith("LEASEFOLD_") || known.includes(name)) continue;
    const nearest = nearestName(name, known);
    warning({
      what: `${name} is no setting of Leasefold`,
      why: "it has no effect, and what it was meant to change has its default",
      cure: nearest === undefined ? `remove it; the settings are ${known.join(", ")}` : `is it ${nearest}?`,
    });
  }
  const settings = readOr(env, (message) =>
    wrong({
      what: message,
      why: "the app does not start with it",
      cure: "give a value that the rule allows, or remove the setting to have its default",
    }),
  );
  dataStorage(env, wrong);
  if (ofApp) hostSettings(env, wrong);
  const given = known.filter((name) => env[name]);
  if (found.length === 0) ok(given.length === 0 ? "all are at their defaults" : `${given.join(", ")}`);
  return settings === undefined ? { findings: found } : { findings: found, settings };
}

function readOr(env: Env, tell: (message: string) => void): Settings | undefined {
  try {
    return readSettings(env);
  } catch (error) {
    tell(messageOf(error));
    return undefined;
  }
}

function dataStorage(env: Env, wrong: ReturnType<typeof findingsOf>["wrong"]): void {
  const uris = ["DataStorage__blobServiceUri", "DataStorage__queueServiceUri"] as const;
  const given = uris.filter((name) => env[name]);
  if (env["DataStorage"] && given.length > 0) {
    wrong({
      what: `DataStorage and ${given.join(" and ")} are both set`,
      why: "the queue triggers would use the key and not the identity, so the app does not start",
      cure: "remove DataStorage where the app should use its identity",
    });
  }
  if (env["DataStorage"] || given.length === 0) return;
  for (const missing of uris.filter((name) => !env[name])) {
    wrong({
      what: `${missing} is not set`,
      why: "blobs and queues have endpoints of their own",
      cure: `set it to https://ACCOUNT.${missing.includes("blob") ? "blob" : "queue"}.core.windows.net`,
    });
  }
  for (const name of given) {
    if (/^https:\/\//.test(env[name] ?? "")) continue;
    wrong({
      what: `${name} is no https address`,
      why: "an identity's token is only sent over https",
      cure: "begin it with https://",
    });
  }
  const credential = env["DataStorage__credential"];
  if (credential !== undefined && credential.toLowerCase() !== "managedidentity") {
    wrong({
      what: `DataStorage__credential is ${JSON.stringify(credential)}`,
      why: "the Functions host knows only managedidentity",
      cure: "set it to managedidentity, or remove it where the app's own identity is to be used",
    });
  }
}

function hostSettings(env: Env, wrong: ReturnType<typeof findingsOf>["wrong"]): void {
  if (!env["LEASEFOLD_SCHEDULE"]) {
    wrong({
      what: "LEASEFOLD_SCHEDULE is not set",
      why: "the timer reads it before the app runs, and the host refuses a timer without it",
      cure: 'set it to "0 * * * * *", each minute',
    });
  }
  if (!Object.keys(env).some((name) => /^AzureWebJobsStorage(__|$)/.test(name) && env[name])) {
    wrong({
      what: "AzureWebJobsStorage is not set",
      why: "the host keeps the timer's lock and its keys there",
      cure: "set AzureWebJobsStorage__accountName and __credential, or UseDevelopmentStorage=true with Azurite",
    });
  }
  if (!env["DataStorage"] && !env["DataStorage__blobServiceUri"]) {
    wrong({
      what: "DataStorage is not set",
      why: "the app does not start without the place of its data",
      cure: "set DataStorage__blobServiceUri and DataStorage__queueServiceUri",
    });
  }
}
