import { messageOf } from "../../../src/engine/model/errors.ts";
import { nearestName } from "../../../src/engine/model/nearNames.ts";
import { readSettings, type Settings, settingsSchema } from "../../../src/engine/model/settings.ts";
import { whyNoToken } from "../../../src/engine/model/storageHost.ts";
import { type Env, findingsOf, type Problem } from "./finding.ts";

/**
 * Checks that the settings are known, valid and without conflicts. With `ofApp` they are those of a whole app, and must
 * also have what the Functions host needs.
 */
export function checkSettings(env: Env, ofApp: boolean) {
  const { found, ok, wrong, warning } = findingsOf("settings");
  const known = Object.keys(settingsSchema.shape);
  for (const name of Object.keys(env)) {
    if (!name.startsWith("LEASEFOLD_") || known.includes(name)) continue;
    // Of the commands on this machine alone.
    if (name === "LEASEFOLD_STATE_DIR" && !ofApp) continue;
    const nearest = nearestName(name, known);
    warning({
      what: `${name} is no setting of Leasefold`,
      why: "it has no effect, and the setting that was meant has its default",
      cure: nearest === undefined ? `remove it; the settings are ${known.join(", ")}` : `is it ${nearest}?`,
    });
  }
  let settings: Settings | undefined;
  try {
    settings = readSettings(env);
  } catch (error) {
    wrong({
      what: messageOf(error),
      why: "the app does not start with it",
      cure: "give a value that the rule allows, or remove the setting to have its default",
    });
  }
  const unset = (settings?.LEASEFOLD_ENV ?? []).filter((name) => env[name] === undefined);
  if (unset.length > 0) {
    warning({
      what: `LEASEFOLD_ENV names ${unset.join(", ")}, which ${unset.length === 1 ? "is" : "are"} not set`,
      why: "calculations find no such variable",
      cure: "set it, for a secret by keyVaultReferences of infra/main.bicep, or remove the name",
    });
  }
  for (const problem of [...dataStorageProblems(env), ...(ofApp ? hostProblems(env) : [])]) wrong(problem);
  const given = known.filter((name) => env[name]);
  if (found.length === 0) ok(given.length === 0 ? "all are at their defaults" : given.join(", "));
  return { findings: found, settings };
}

function* dataStorageProblems(env: Env): Generator<Problem> {
  const uris = ["DataStorage__blobServiceUri", "DataStorage__queueServiceUri"] as const;
  const given = uris.filter((name) => env[name]);
  if (env["DataStorage"] && given.length > 0) {
    yield {
      what: `DataStorage and ${given.join(" and ")} are both set`,
      why: "the queue triggers would use the key and not the identity, so the app does not start",
      cure: "remove DataStorage if the app should use its identity",
    };
  }
  if (env["DataStorage"] || given.length === 0) return;
  for (const missing of uris.filter((name) => !env[name])) {
    yield {
      what: `${missing} is not set`,
      why: "blobs and queues have endpoints of their own",
      cure: `set it to https://ACCOUNT.${missing.includes("blob") ? "blob" : "queue"}.core.windows.net`,
    };
  }
  for (const name of given) {
    const service = name.includes("blob") ? "blob" : "queue";
    const why = whyNoToken(env[name] ?? "", service);
    if (why === undefined) continue;
    yield {
      what: `${name} gets no token: ${why}`,
      why: "a token opens every storage account of its owner, so it goes to Azure Storage over https alone",
      cure: `set it to https://ACCOUNT.${service}.core.windows.net`,
    };
  }
  const credential = env["DataStorage__credential"];
  if (credential !== undefined && credential.toLowerCase() !== "managedidentity") {
    yield {
      what: `DataStorage__credential is ${JSON.stringify(credential)}`,
      why: "the Functions host knows only managedidentity",
      cure: "set it to managedidentity, or remove it to use the app's own identity",
    };
  }
}

function* hostProblems(env: Env): Generator<Problem> {
  if (!env["LEASEFOLD_SCHEDULE"]) {
    yield {
      what: "LEASEFOLD_SCHEDULE is not set",
      why: "the timer reads it before the app runs, and the host refuses a timer without it",
      cure: 'set it to "0 * * * * *", each minute',
    };
  }
  if (!Object.keys(env).some((name) => /^AzureWebJobsStorage(__|$)/.test(name) && env[name])) {
    yield {
      what: "AzureWebJobsStorage is not set",
      why: "the host keeps the timer's lock and its keys there",
      cure: "set AzureWebJobsStorage__accountName and __credential, or UseDevelopmentStorage=true with Azurite",
    };
  }
  if (
    env["AzureWebJobsStorage"] === "" &&
    Object.keys(env).some((name) => name.startsWith("AzureWebJobsStorage__"))
  ) {
    yield {
      what: "AzureWebJobsStorage is empty, beside AzureWebJobsStorage__ settings",
      why: 'the host does not start with it: "Unable to find matching constructor" (github.com/Azure/azure-functions-host/issues/11794)',
      cure: "remove the empty setting: az functionapp config appsettings delete --setting-names AzureWebJobsStorage",
    };
  }
  if (!env["DataStorage"] && !env["DataStorage__blobServiceUri"]) {
    yield {
      what: "DataStorage is not set",
      why: "the app does not start without the storage of its data",
      cure: "set DataStorage__blobServiceUri and DataStorage__queueServiceUri",
    };
  }
}
