import { electionFrom } from "../../../src/election/settings.ts";
import { messageOf } from "../../../src/model/errors.ts";
import { type HostSettings, packLimitOf, readHostSettings } from "../../../src/model/hostSettings.ts";
import { settingsSchema } from "../../../src/model/settings.ts";
import type { Project } from "../project.ts";
import { type Finding, findingAt, placeOfText } from "../syntax.ts";

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
  const { logging } = JSON.parse(text) as {
    logging?: { applicationInsights?: { samplingSettings?: { excludedTypes?: string } } };
  };
  const kept = logging?.applicationInsights?.samplingSettings?.excludedTypes?.split(";") ?? [];
  return [
    ...(host.queues.messageEncoding === "none"
      ? []
      : [
          tell(
            "messageEncoding",
            'must be "none": Leasefold sends plain JSON, and the host would set all of it aside',
          ),
        ]),
    // Alerts are told by traces.
    ...["Request", "Exception", "Trace"]
      .filter((type) => !kept.includes(type))
      .map((type) => tell("samplingSettings", `excludedTypes needs ${type}, or the host drops some of them`)),
    ...misfits(host, {}, 2048).map((says) => tell("functionTimeout", says)),
    ...[...project.files].flatMap(([name, content]) => parameterFile(project, host, name, content)),
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

function parameterFile(project: Project, host: HostSettings, name: string, text: string): Finding[] {
  if (!/^infra\/[^/]+\.parameters\.json$/.test(name)) return [];
  type Values = Record<string, { value?: unknown } | undefined>;
  const { parameters = {} } = JSON.parse(text) as { parameters?: Values };
  const main = project.templates.get("infra/main.bicep");
  const standard = main?.declarations.find((one) => one.name === "instanceMemoryMB")?.value;
  const memoryMb = Number(parameters["instanceMemoryMB"]?.value ?? standard?.text);
  const settings = (parameters["settings"]?.value ?? {}) as Record<string, unknown>;
  const about = parameters["settings"] === undefined ? "instanceMemoryMB" : "settings";
  return misfits(host, settings, memoryMb).map((says) =>
    findingAt(placeOfText(name, text, `"${about}"`), "drift-host", says),
  );
}
