import { all } from "../facts.ts";
import type { Finding } from "../finding.ts";
import { at, fieldsAt, listAt, nameOf, ofType, type Resource } from "../json.ts";
import { analyzeQuery } from "../kusto.ts";
import type { Project } from "../project.ts";

type Wrong = readonly [Finding["rule"], string];

/** The code and everything beside it say the same: names, queries, pages and versions. Settings are in `settings.ts`. */
export function drift(project: Project): Finding[] {
  return [
    ...[...project.snapshots].flatMap(([file, resources]) =>
      [...stored(project, resources), ...ready(project, resources)].map(([rule, says]) => ({
        rule,
        file,
        says,
      })),
    ),
    ...queries(project),
    ...operations(project),
    ...versions(project),
  ];
}

const queueType = "Microsoft.Storage/storageAccounts/queueServices/queues";
const containerType = "Microsoft.Storage/storageAccounts/blobServices/containers";
const prefix = "leasefold-";

/** Containers and queues of the data account are those of the code; only what nobody looks at again goes by its age. */
function stored({ facts }: Project, resources: readonly Resource[]): Wrong[] {
  if (ofType(resources, "Microsoft.Storage/storageAccounts").length === 0) return [];
  const named = (type: string) =>
    ofType(resources, type)
      .map(nameOf)
      .filter((name) => name.startsWith(prefix))
      .map((name) => name.slice(prefix.length));
  // What `LEASEFOLD_ENDED_QUEUE` and `endedEventsQueue` name is the operator's.
  const queues = named(queueType).filter((name) => name !== "ended" && name !== "events");
  const wanted = facts.queues.flatMap((name) => [name, `${name}-poison`]);
  const policies = ofType(resources, "Microsoft.Storage/storageAccounts/managementPolicies");
  const aged = policies.flatMap((one) =>
    listAt(one, "properties", "policy", "rules").flatMap((rule) =>
      listAt(rule, "definition", "filters", "prefixMatch"),
    ),
  );
  return [
    ...differences(named(containerType), facts.containers).map((says): Wrong => ["drift-containers", says]),
    ...differences(queues, wanted).map((says): Wrong => ["drift-queues", says]),
    ...aged
      .filter((path) => !/^leasefold-(runs|results)\/$/.test(String(path)))
      .map(
        (path): Wrong => ["lifecycle-scope", `${String(path)}: only runs and results may be deleted by age`],
      ),
  ];
}

/** `function:worker` among the instances that are always ready. */
function ready({ facts }: Project, resources: readonly Resource[]): Wrong[] {
  return ofType(resources, "Microsoft.Web/sites").flatMap((one) =>
    listAt(one, "properties", "functionAppConfig", "scaleAndConcurrency", "alwaysReady")
      .map((group) => /^function:(.*)$/.exec(String(at(group, "name")))?.[1])
      .filter((name) => name !== undefined && !facts.functions.includes(name))
      .map(
        (name): Wrong => [
          "drift-functions",
          `no function is called ${name}; there are ${facts.functions.join(", ")}`,
        ],
      ),
  );
}

const differences = (listed: readonly string[], truth: readonly string[]): string[] => [
  ...listed.filter((one) => !truth.includes(one)).map((one) => `${one} is not in src/engine/model/names.ts`),
  ...truth
    .filter((one) => !listed.includes(one))
    .map((one) => `${one} of src/engine/model/names.ts is missing`),
];

/** Queries are valid KQL; the events, fields and functions that they name exist; a template loads each. */
function queries({ facts, files }: Project): Finding[] {
  const templates = [...files].filter(([file]) => file.endsWith(".bicep")).map(([, text]) => text);
  const loaded = templates.flatMap((text) => all(text, /loadTextContent\('([^']+)'\)/g));
  return [...files].flatMap(([file, text]) => {
    if (!file.startsWith("infra/queries/")) return [];
    const events = all(text, /\bevent\)? (?:==|in) (\(?"[^)|\n]*)/g).flatMap((list) =>
      all(list, /(?<!\[)"([\w-]+)"/g),
    );
    const begins = all(text, /\{\\"event\\":\\"([\w-]+)\\"/g);
    const named = all(text, /OperationName (?:in|==) (\(?"[^)\n|]*)/g).flatMap((list) =>
      all(list, /"(\w+)"/g),
    );
    const fields = all(text, /\bfields(?:\.|\[")(\w+)/g);
    const told = analyzeQuery(text).GetDiagnostics();
    const wrong: Wrong[] = [
      ...Array.from({ length: told.Count }, (_, i): Wrong => {
        const { Start, Message } = told.getItem(i);
        return ["query", `line ${text.slice(0, Start).split("\n").length}: ${Message}`];
      }),
      ...[...events, ...begins]
        .filter((name) => !facts.events.includes(name))
        .map((name): Wrong => ["drift-events", `no event is called ${name}`]),
      ...fields
        .filter((name) => !facts.fields.has(name) && name !== "event")
        .map((name): Wrong => ["drift-events", `no event has a field ${name}`]),
      ...named
        .filter((name) => !facts.functions.includes(name))
        .map((name): Wrong => ["drift-functions", `no function is called ${name}`]),
      ...(loaded.some((path) => path.endsWith(`/${file.split("/").at(-1)}`))
        ? []
        : [["drift-queries", "no template loads this query"] as Wrong]),
    ];
    return wrong.map(([rule, says]) => ({ rule, file, says }));
  });
}

/** Each alert has its section in the operations page. */
function operations({ files, snapshots }: Project): Finding[] {
  const file = "docs/OPERATIONS.md";
  const sections = (files.get(file) ?? "").split("\n");
  const names = new Set(
    [...snapshots.values()]
      .flat()
      .flatMap((one) =>
        one.type === "Microsoft.Insights/scheduledQueryRules" ? [one.name.replace(/^[^-]*-[^-]*-/, "")] : [],
      ),
  );
  return [...names]
    .filter((name) => !sections.includes(`### ${name}`))
    .map((name) => ({ rule: "drift-operations", file, says: `the alert ${name} has no section` }));
}

/** Versions that two places name: of Node, and of the compiler of templates. */
function versions({ files, facts, templates }: Project): Finding[] {
  const old = [...templates].flatMap(([file, template]) =>
    listAt(fieldsAt(template, "parameters", "runtimeVersion"), "allowedValues")
      .filter((one) => !(Number(one) >= facts.nodeMinimum))
      .map((one): [string, string] => [
        file,
        `Node ${String(one)}: the bundle needs ${facts.nodeMinimum} or newer`,
      ]),
  );
  const compiler = /CommandLine\.linux-x64" Version="([\d.]+)"/.exec(
    files.get(".ci/bicep.csproj") ?? "",
  )?.[1];
  const jobs = [...files].flatMap(([file, text]) =>
    file.startsWith(".github/workflows/")
      ? text.split(/^(?= {2}[\w-]+:$)/m).map((job) => [file, job] as const)
      : [],
  );
  const loose = jobs
    .filter(([, job]) => /az deployment group (create|what-if)/.test(job))
    .filter(([, job]) => !job.includes(`az bicep install --version v${compiler} `))
    .map(([file]): [string, string] => [
      file,
      `a job that builds templates must install Bicep ${compiler} (.ci/bicep.csproj)`,
    ]);
  return [...old, ...loose].map(([file, says]) => ({ rule: "drift-version", file, says }));
}
