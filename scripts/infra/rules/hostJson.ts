import { electionFrom } from "../../../src/election/settings.ts";
import { messageOf } from "../../../src/engine/model/errors.ts";
import { type HostSettings, packLimitOf, readHostSettings } from "../../../src/engine/model/hostSettings.ts";
import { settingsSchema } from "../../../src/engine/model/settings.ts";
import type { Project } from "../project.ts";
import { type Finding, findingAt, placeOfText } from "../syntax.ts";
import { appFile } from "./driftSettings.ts";

const file = "host.json";

/**
 * `drift-host`: `host.json` is what the code expects, and each parameter file gives times and threads that fit it and
 * the instances. The app refuses such times at its start; here they are refused before a deployment.
 */
export function hostJson(project: Project): Finding[] {
  const text = project.files.get(file) ?? "";
  const tell = (about: string, says: string) =>
    findingAt(placeOfText(file, text, `"${about}"`), "drift-host", says);
  let host: HostSettings;
  try {
    host = readHostSettings(text, {});
  } catch (error) {
    return [tell("", messageOf(error))];
  }
  return [
    ...(host.queues.messageEncoding === "none"
      ? []
      : [
          tell(
            "messageEncoding",
            'must be "none": Leasefold sends plain JSON, and the host would set all of it aside',
          ),
        ]),
    ...telemetry(project, text).map(([about, says]) => tell(about, says)),
    ...misfits(host, {}, 2048).map((says) => tell("functionTimeout", says)),
    ...[...project.files].flatMap(([name, content]) => parameterFile(project, text, name, content)),
  ];
}

interface Logging {
  readonly logLevel?: Readonly<Record<string, string>>;
  readonly applicationInsights?: {
    readonly samplingSettings?: { readonly excludedTypes?: string; readonly maxSamplingPercentage?: number };
  };
}

/** Share of requests that is kept at most: each costs about as much as a pack's message. */
const requestsMaxPercent = 10;

/**
 * Alerts are told by traces and exceptions, so none of those is sampled; requests and the host's lines on each message are
 * the bulk, so the first are sampled and the second off, but not what the app itself says there. So are the lines of a start.
 */
function telemetry({ facts }: Project, text: string): [about: string, says: string][] {
  const { logLevel = {}, applicationInsights } = (JSON.parse(text) as { logging?: Logging }).logging ?? {};
  const sampling = applicationInsights?.samplingSettings;
  const kept = sampling?.excludedTypes?.split(";") ?? [];
  const workers = facts.functions.filter((name) => name.startsWith("worker"));
  const levelOf = (category: string): string | undefined => {
    const [longest] = Object.keys(logLevel)
      .filter((prefix) => category.startsWith(prefix))
      .sort((a, b) => b.length - a.length);
    return logLevel[longest ?? "default"];
  };
  const lost = ["Exception", "Trace"].filter((type) => !kept.includes(type));
  const percent = sampling?.maxSamplingPercentage ?? 100;
  return [
    ...lost.map((type): [string, string] => [
      "samplingSettings",
      `excludedTypes needs ${type}: alerts are told by it`,
    ]),
    ...(kept.includes("Request") || percent > requestsMaxPercent
      ? [
          [
            "samplingSettings",
            `sample requests to ${requestsMaxPercent} % at most; all of them fill the daily cap`,
          ] as [string, string],
        ]
      : []),
    ...["Host.Startup", "Microsoft.Azure.WebJobs.Hosting"]
      .filter((category) => levelOf(category) !== "Warning")
      .map((category): [string, string] => [
        "logLevel",
        `${category} must be Warning: a tick on a cold instance starts a host, which logs dozens of lines there`,
      ]),
    ...workers.flatMap((name): [string, string][] => [
      ...(levelOf(`Function.${name}`) === "Warning"
        ? []
        : ([
            ["logLevel", `Function.${name} must be Warning, or the host logs three lines for each message`],
          ] as [string, string][])),
      ...(levelOf(`Function.${name}.User`) === "Information"
        ? []
        : ([["logLevel", `Function.${name}.User must be Information, or events of the app are lost`]] as [
            string,
            string,
          ][])),
    ]),
  ];
}

/** What does not fit together, with the app's defaults where nothing is given. */
function misfits(host: HostSettings, given: Readonly<Record<string, unknown>>, memoryMb: number): string[] {
  const decoded = settingsSchema.safeParse(given);
  if (!decoded.success)
    return decoded.error.issues.map(({ path, message }) => `${String(path[0])}: ${message}`);
  const settings = decoded.data;
  const timeoutS = host.functionTimeoutMs / 1_000;
  const threads = settings.LEASEFOLD_THREADS ?? host.queues.batchSize + host.queues.newBatchThreshold;
  const heapsMb = threads * settings.LEASEFOLD_THREAD_MEMORY_MB;
  return [
    ...refusalOf(() => packLimitOf(settings, host)),
    ...refusalOf(() => electionFrom(settings, host)),
    ...(settings.LEASEFOLD_BUDGET_S < timeoutS
      ? []
      : [`LEASEFOLD_BUDGET_S=${settings.LEASEFOLD_BUDGET_S} is not below functionTimeout (${timeoutS} s)`]),
    ...(heapsMb < memoryMb
      ? []
      : [
          `${threads} threads of ${settings.LEASEFOLD_THREAD_MEMORY_MB} MB do not fit into instanceMemoryMB ${memoryMb}`,
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

function parameterFile(project: Project, hostText: string, name: string, text: string): Finding[] {
  if (!/^infra\/[^/]+\.parameters\.json$/.test(name)) return [];
  type Values = Record<string, { value?: unknown } | undefined>;
  const { parameters = {} } = JSON.parse(text) as { parameters?: Values };
  const main = project.templates.get("infra/main.bicep");
  const standard = main?.declarations.find((one) => one.name === "instanceMemoryMB")?.value;
  const memoryMb = Number(parameters["instanceMemoryMB"]?.value ?? standard?.text);
  // The template sets some itself, and those of the host over host.json.
  const app = project.templates.get(appFile)?.root.text ?? "";
  const pattern = /^ +((?:AzureFunctionsJobHost__|LEASEFOLD_)\w+): '([^']*)'$/gm;
  const set = [...app.matchAll(pattern)].map(([, key = "", value = ""]): [string, string] => [key, value]);
  const isHost = (key: string) => key.startsWith("AzureFunctionsJobHost__");
  const given = (parameters["settings"]?.value ?? {}) as Record<string, unknown>;
  const settings = { ...Object.fromEntries(set.filter(([key]) => !isHost(key))), ...given };
  const host = readHostSettings(hostText, Object.fromEntries(set.filter(([key]) => isHost(key))));
  const about = parameters["settings"] === undefined ? "instanceMemoryMB" : "settings";
  return misfits(host, settings, memoryMb).map((says) =>
    findingAt(placeOfText(name, text, `"${about}"`), "drift-host", says),
  );
}
