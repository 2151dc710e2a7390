import type { Project } from "../project.ts";
import { type Finding, findingAt, namedChildren, placeOf, placeOfText } from "../syntax.ts";
import { bodyOf, type Declaration, propertiesOf } from "../template.ts";
import { numberOf } from "./constraints.ts";

/** Settings that no template sets, each with its reason. */
const notInAzure: Readonly<Record<string, string>> = {
  LEASEFOLD_INSTANCE: "one value would name every instance alike; the platform's own id is better",
  LEASEFOLD_WATCH: "an instance on Flex sleeps between invocations and cannot watch",
};
/** Settings of the platform that templates and samples may use. */
const platform =
  /^(AzureWebJobsStorage(__\w+)?|AzureFunctionsJobHost__functionTimeout|FUNCTIONS_WORKER_RUNTIME|APPLICATIONINSIGHTS_\w+)$/;

/** `drift-settings`, `drift-range`, `drift-sample` and `drift-page`: settings are the same wherever they are named. */
export function driftSettings(project: Project): Finding[] {
  return [...settings(project), ...ranges(project), ...samples(project)];
}

export const sharedFile = "infra/shared.bicep";

export const find = (project: Project, file: string, name: string): Declaration | undefined =>
  project.templates.get(file)?.declarations.find((one) => one.name === name);

export const appFile = "infra/modules/functionApp.bicep";

/** Each `LEASEFOLD_` setting of the code is set by the template or may be given to it, and no other. */
function settings(project: Project): Finding[] {
  const app = project.templates.get(appFile);
  const resource = app?.declarations.find((one) => one.target?.startsWith("Microsoft.Web/sites/config@"));
  const type = find(project, sharedFile, "leasefoldSettings");
  if (app === undefined || resource === undefined || type?.type === undefined) {
    return [
      findingAt(
        { file: appFile, line: 1, column: 1 },
        "drift-settings",
        "the app settings are not where they were",
      ),
    ];
  }
  const given = propertiesOf(type.type).map(({ key, keyNode }) => ({
    key,
    place: placeOf(sharedFile, keyNode),
  }));
  const body = bodyOf(resource.value);
  const objects = body === undefined ? [] : objectsIn(body);
  const set = objects
    .flatMap(propertiesOf)
    .filter(({ key }) => /^[A-Z]\w*(__\w+|_\w+)$/.test(key))
    .map(({ key, keyNode }) => ({ key, place: placeOf(appFile, keyNode) }));
  const { facts } = project;
  const known = (key: string) =>
    facts.settings.includes(key) || facts.connectionSettings.includes(key) || platform.test(key);
  const strange = [...given, ...set]
    .filter(({ key }) => !known(key))
    .map(({ key, place }) => findingAt(place, "drift-settings", `${key} is no setting that the app reads`));
  const wanted = [...facts.settings, ...facts.connectionSettings].filter(
    (key) => notInAzure[key] === undefined,
  );
  const missing = wanted
    .filter((key) => ![...given, ...set].some((one) => one.key === key))
    .map((key) => findingAt(resource.place, "drift-settings", `${key} can not be set by the template`));
  const reasons = Object.keys(notInAzure)
    .filter((key) => !facts.settings.includes(key) || given.some((one) => one.key === key))
    .map((key) =>
      findingAt(resource.place, "drift-settings", `${key} needs no reason to be left out any more`),
    );
  const page = project.files.get("docs/SETTINGS.md") ?? "";
  const untold = facts.settings
    .filter((key) => !page.includes(`| \`${key}\` |`))
    .map((key) =>
      findingAt({ file: "docs/SETTINGS.md", line: 1, column: 1 }, "drift-page", `${key} is in no table`),
    );
  return [...strange, ...missing, ...reasons, ...untold];
}

function objectsIn(node: Declaration["node"]): Declaration["node"][] {
  return [...(node.type === "object" ? [node] : []), ...namedChildren(node).flatMap(objectsIn)];
}

/** The limits of the template are those of the code: what it takes at the edge and refuses beyond. */
function ranges(project: Project): Finding[] {
  const type = find(project, sharedFile, "leasefoldSettings")?.type;
  return (type === undefined ? [] : propertiesOf(type)).flatMap((one) =>
    (["minValue", "maxValue"] as const).flatMap((side) => {
      const edge = numberOf(one, side);
      if (edge === undefined || !project.facts.settings.includes(one.key)) return [];
      const beyond = side === "minValue" ? edge - 1 : edge + 1;
      if (project.facts.takes(one.key, edge) && !project.facts.takes(one.key, beyond)) return [];
      const place = placeOf(sharedFile, one.keyNode);
      return [
        findingAt(
          place,
          "drift-range",
          `${one.key}: @${side}(${edge}) is not the limit in src/engine/model/settings.ts`,
        ),
      ];
    }),
  );
}

function samples(project: Project): Finding[] {
  const file = "local.settings.sample.json";
  const text = project.files.get(file) ?? "{}";
  const { Values = {} } = JSON.parse(text) as { Values?: Record<string, string> };
  const { facts } = project;
  const wrong = Object.entries(Values).flatMap(([name, value]) => {
    const place = placeOfText(file, text, `"${name}"`);
    if (name === facts.connection || platform.test(name)) return [];
    if (!facts.settings.includes(name))
      return [findingAt(place, "drift-sample", `${name} is no setting that the app reads`)];
    return facts.takes(name, value)
      ? []
      : [findingAt(place, "drift-sample", `${name}=${value} is refused by the app`)];
  });
  const needed = [facts.connection, "AzureWebJobsStorage", "FUNCTIONS_WORKER_RUNTIME", "LEASEFOLD_SCHEDULE"];
  const missing = needed
    .filter((name) => Values[name] === undefined)
    .map((name) =>
      findingAt({ file, line: 1, column: 1 }, "drift-sample", `${name} is missing; the app does not start`),
    );
  return [...wrong, ...missing];
}
