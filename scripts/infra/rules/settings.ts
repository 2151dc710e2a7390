import { electionFrom } from "../../../src/election/settings.ts";
import { messageOf } from "../../../src/engine/model/errors.ts";
import { type HostSettings, packLimitOf, readHostSettings } from "../../../src/engine/model/hostSettings.ts";
import { settingsSchema } from "../../../src/engine/model/settings.ts";
import type { Finding } from "../finding.ts";
import { at, type Fields, fieldsAt, ofType, prop, type Resource } from "../json.ts";
import type { Project } from "../project.ts";

type Rule = Finding["rule"];

/** Settings that no template sets, each with its reason. */
const notInAzure: Readonly<Record<string, string>> = {
  LEASEFOLD_INSTANCE: "one value would name every instance alike; the platform's own id is better",
  LEASEFOLD_WATCH: "an instance on Flex sleeps between invocations and cannot watch",
};
/** Settings of the platform that templates and samples may use. */
const platform =
  /^(AzureWebJobsStorage(__\w+)?|AzureWebJobsDisableHomepage|AzureFunctionsJobHost__[\w.]+|FUNCTIONS_WORKER_RUNTIME|APPLICATIONINSIGHTS_\w+)$/;

const appSettings = (resources: readonly Resource[]): Fields[] =>
  ofType(resources, "Microsoft.Web/sites/config").map((one) => fieldsAt(one, "properties"));

/** Settings are the same wherever they are named, and host.json is what the code expects. */
export function settings(project: Project): Finding[] {
  return [
    ...setByTemplates(project),
    ...ranges(project),
    ...samples(project),
    ...pages(project),
    ...hostJson(project),
  ];
}

/** Each setting of the code is set by the template or may be given to it, and no other. */
function setByTemplates({ facts, snapshots, templates }: Project): Finding[] {
  const given = [...templates.values()].flatMap((template) =>
    Object.keys(fieldsAt(template, "definitions", "leasefoldSettings", "properties")),
  );
  const known = (name: string) =>
    facts.settings.includes(name) || facts.connectionSettings.includes(name) || platform.test(name);
  const wrong = [...snapshots].flatMap(([file, resources]) =>
    appSettings(resources).flatMap((set) => {
      const strange = Object.entries(set)
        .filter(([name, value]) => !known(name) && !String(value).startsWith("@Microsoft.KeyVault("))
        .map(([name]) => `${name} is no setting that the app reads`);
      const wanted = [...facts.settings, ...facts.connectionSettings].filter(
        (name) => notInAzure[name] === undefined,
      );
      const missing = wanted
        .filter((name) => set[name] === undefined && !given.includes(name))
        // Without the compiler nobody knows what may be given.
        .filter((name) => templates.size > 0 || !name.startsWith("LEASEFOLD_"))
        .map((name) => `${name} cannot be set by the template`);
      return [...strange, ...missing].map((says) => ({ file, says }));
    }),
  );
  const extra = given
    .filter((name) => !facts.settings.includes(name) || notInAzure[name] !== undefined)
    .map((name) => ({ file: "infra/shared.bicep", says: `${name} is no setting for Azure` }));
  return [...wrong, ...extra].map((one) => ({ rule: "drift-settings", ...one }));
}

/** The limits of the template are those of the code: what it takes at the edge and refuses beyond. */
function ranges({ templates, facts }: Project): Finding[] {
  const given = fieldsAt(templates.get("infra/main.bicep"), "definitions", "leasefoldSettings", "properties");
  return Object.entries(given).flatMap(([name, type]) =>
    (["minValue", "maxValue"] as const).flatMap((side) => {
      const edge = at(type, side);
      if (typeof edge !== "number" || !facts.settings.includes(name)) return [];
      const beyond = side === "minValue" ? edge - 1 : edge + 1;
      if (facts.takes(name, edge) && !facts.takes(name, beyond)) return [];
      const says = `${name}: @${side}(${edge}) is not the limit in src/engine/model/settings.ts`;
      return [{ rule: "drift-range" as Rule, file: "infra/shared.bicep", says }];
    }),
  );
}

function samples({ files, facts }: Project): Finding[] {
  const file = "local.settings.sample.json";
  const { Values = {} } = JSON.parse(files.get(file) ?? "{}") as { Values?: Record<string, string> };
  const wrong = Object.entries(Values).flatMap(([name, value]) => {
    if (name === facts.connection || platform.test(name)) return [];
    if (!facts.settings.includes(name)) return [`${name} is no setting that the app reads`];
    return facts.takes(name, value) ? [] : [`${name}=${value} is refused by the app`];
  });
  const missing = [facts.connection, "AzureWebJobsStorage", "FUNCTIONS_WORKER_RUNTIME", "LEASEFOLD_SCHEDULE"]
    .filter((name) => Values[name] === undefined)
    .map((name) => `${name} is missing; the app does not start`);
  return [...wrong, ...missing].map((says) => ({ rule: "drift-sample", file, says }));
}

function pages({ files, facts }: Project): Finding[] {
  const file = "docs/OPERATIONS.md";
  return facts.settings
    .filter((name) => !files.get(file)?.includes(`| \`${name}\` |`))
    .map((name) => ({ rule: "drift-page", file, says: `${name} is in no table` }));
}

/** host.json is what the code expects, and the times and threads of each deployment fit it and its instances. */
function hostJson(project: Project): Finding[] {
  const file = "host.json";
  const text = project.files.get(file) ?? "";
  let host: HostSettings;
  try {
    host = readHostSettings(text, {});
  } catch (error) {
    return [{ rule: "drift-host", file, says: messageOf(error) }];
  }
  const encoding =
    'messageEncoding must be "none": the host would set aside the plain JSON that Leasefold sends';
  const own = [
    ...(host.queues.messageEncoding === "none" ? [] : [encoding]),
    ...telemetry(project, text),
    ...misfits(host, {}, 2048),
  ].map((says) => ({ file, says }));
  const deployed = [...project.snapshots].flatMap(([name, resources]) => {
    const [set] = appSettings(resources);
    const [site] = ofType(resources, "Microsoft.Web/sites");
    if (set === undefined || site === undefined) return [];
    const ofHost = Object.entries(set).filter(([key]) => key.startsWith("AzureFunctionsJobHost__"));
    const texts = Object.fromEntries(ofHost.map(([key, value]) => [key, String(value)]));
    const memory = Number(prop(site, "functionAppConfig", "scaleAndConcurrency", "instanceMemoryMB"));
    return misfits(readHostSettings(text, texts), set, memory).map((says) => ({ file: name, says }));
  });
  return [...own, ...deployed].map((one) => ({ rule: "drift-host", ...one }));
}

/** Share of requests that is kept at most: each costs about as much as a pack's message. */
const requestsMaxPercent = 10;

interface Logging {
  readonly logLevel?: Readonly<Record<string, string>>;
  readonly applicationInsights?: {
    readonly samplingSettings?: { readonly excludedTypes?: string; readonly maxSamplingPercentage?: number };
  };
}

/**
 * Alerts are told by traces and exceptions, so none of those is sampled; requests and the host's lines on each message are
 * the bulk, so the first are sampled and the second off, but not what the app itself says there. So are the lines of a start.
 */
function telemetry({ facts }: Project, text: string): string[] {
  const { logLevel = {}, applicationInsights } = (JSON.parse(text) as { logging?: Logging }).logging ?? {};
  const sampling = applicationInsights?.samplingSettings;
  const kept = sampling?.excludedTypes?.split(";") ?? [];
  const levelOf = (category: string): string | undefined => {
    const [longest] = Object.keys(logLevel)
      .filter((prefix) => category.startsWith(prefix))
      .sort((a, b) => b.length - a.length);
    return logLevel[longest ?? "default"];
  };
  const workers = facts.functions.filter((name) => name.startsWith("worker"));
  const levels: readonly (readonly [category: string, level: string, why: string])[] = [
    ...["Host.Startup", "Microsoft.Azure.WebJobs.Hosting"].map(
      (name) =>
        [
          name,
          "Warning",
          "a tick on a cold instance starts a host, which logs dozens of lines there",
        ] as const,
    ),
    ...workers.flatMap((name) => [
      [`Function.${name}`, "Warning", "or the host logs three lines for each message"] as const,
      [`Function.${name}.User`, "Information", "or events of the app are lost"] as const,
    ]),
  ];
  return [
    ...["Exception", "Trace"]
      .filter((type) => !kept.includes(type))
      .map((type) => `excludedTypes needs ${type}: alerts are told by it`),
    ...(kept.includes("Request") || (sampling?.maxSamplingPercentage ?? 100) > requestsMaxPercent
      ? [`sample requests to ${requestsMaxPercent} % at most; all of them fill the daily cap`]
      : []),
    ...levels
      .filter(([category, level]) => levelOf(category) !== level)
      .map(([category, level, why]) => `${category} must be ${level}: ${why}`),
  ];
}

/** What does not fit together, with the app's defaults where nothing is given. */
function misfits(host: HostSettings, given: Fields, memoryMb: number): string[] {
  const decoded = settingsSchema.safeParse(given);
  if (!decoded.success)
    return decoded.error.issues.map(({ path, message }) => `${String(path[0])}: ${message}`);
  const found = decoded.data;
  const timeoutS = host.functionTimeoutMs / 1_000;
  const threads = found.LEASEFOLD_THREADS ?? host.queues.batchSize + host.queues.newBatchThreshold;
  const heapsMb = threads * found.LEASEFOLD_THREAD_MEMORY_MB;
  return [
    ...refusalOf(() => packLimitOf(found, host)),
    ...refusalOf(() => electionFrom(found, host)),
    ...(found.LEASEFOLD_BUDGET_S < timeoutS
      ? []
      : [`LEASEFOLD_BUDGET_S=${found.LEASEFOLD_BUDGET_S} is not below functionTimeout (${timeoutS} s)`]),
    ...(heapsMb < memoryMb
      ? []
      : [
          `${threads} threads of ${found.LEASEFOLD_THREAD_MEMORY_MB} MB do not fit into instanceMemoryMB ${memoryMb}`,
        ]),
  ];
}

/** What the app itself would say at its start. */
function refusalOf(check: () => unknown): string[] {
  try {
    check();
    return [];
  } catch (error) {
    return [messageOf(error)];
  }
}
