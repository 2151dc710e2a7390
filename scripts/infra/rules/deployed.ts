import { messageOf } from "../../../src/engine/model/errors.ts";
import {
  bootstrapFile,
  deployment,
  expressionValue,
  mainFile,
  parametersIn,
} from "../evaluate/deployment.ts";
import { at, type Fields, type Resource } from "../evaluate/values.ts";
import type { Project } from "../project.ts";
import { itemsOf } from "../refusals/refusal.ts";
import { offers } from "../regions.ts";
import type { Node } from "../syntax.ts";
import { type Finding, findingAt, namedChildren, placeOfText, type RuleName } from "../syntax.ts";
import { bodyOf, propertyAt, stringOf } from "../template.ts";
import { appFile, find, sharedFile } from "./driftSettings.ts";
import { raced, refused } from "./refused.ts";

/**
 * Rules on what the templates deploy, evaluated for each parameter file: `deployment`, `resource-name`, `publish-path`,
 * `scale-queue`, `redundancy`, those of refusals, and on the bootstrap `preview-rights`; and `peering-order` on the templates
 * themselves.
 */
export function deployed(project: Project): Finding[] {
  const texts = [...project.files].filter(([file]) =>
    /^(infra\/.*\.(bicep|kql|parameters\.json)|docs\/DEPLOY\.md)$/.test(file),
  );
  const key = JSON.stringify(texts);
  const known = found.get(key) ?? findingsOf(project);
  found.set(key, known);
  return known;
}

/** By the texts that it depends on: evaluating takes half a second, and a test asks again and again. */
const found = new Map<string, Finding[]>();

function findingsOf(project: Project): Finding[] {
  const found: Finding[] = [];
  for (const [file, text] of project.files) {
    if (!/^infra\/[^/]+\.parameters\.json$/.test(file)) continue;
    let given: Fields;
    try {
      given = parametersIn(text);
    } catch {
      continue; // `parameter-file` tells.
    }
    for (const more of variants) found.push(...ofDeployment(project, file, { ...given, ...more }));
  }
  for (const given of bootstraps) found.push(...ofBootstrap(project, given));
  const unique = new Map(found.map((one) => [JSON.stringify(one), one]));
  return [...unique.values(), ...redundancy(project), ...peerings(project), ...raced(project)];
}

const repository = "owner/name";
/** With subjects as GitHub makes them for old repositories and for new ones. */
const bootstraps: readonly Fields[] = [{ repository }, { repository, subjectPrefix: "repo:owner@1/name@2" }];

/** What Azure would refuse of the bootstrap; and the identity of pull requests gets one role, which can change nothing. */
function ofBootstrap(project: Project, given: Fields): Finding[] {
  let resources: readonly Resource[];
  try {
    resources = deployment(project, given, bootstrapFile);
  } catch (error) {
    return [findingAt({ file: bootstrapFile, line: 1, column: 1 }, "deployment", messageOf(error))];
  }
  const own = resources.find(({ type }) => type === "Microsoft.Authorization/roleDefinitions")?.id;
  const more = resources
    .filter(({ type }) => type === "Microsoft.Authorization/roleAssignments")
    .filter(({ body }) => String(at(body, "properties", "principalId")).includes("-previewer."))
    .filter(({ body }) => at(body, "properties", "roleDefinitionId") !== own);
  const text = project.files.get(bootstrapFile) ?? "";
  return [
    ...refused(project, resources, given),
    ...more.map(() =>
      findingAt(
        placeOfText(bootstrapFile, text, "module previewerRoles"),
        "preview-rights",
        "the identity of pull requests gets previewRole and no other",
      ),
    ),
  ];
}

const variants: readonly Fields[] = [
  {},
  { privateNetwork: true, publicHttp: false, logStorage: true, lock: true, alertEmail: "a@example.org" },
  { monitoring: false, zoneRedundant: true },
  { workerImage: "image", workerRegistry: "registry.example", privateNetwork: true },
  { workerImage: "image", workerProfile: "D4", workerCores: 4, monitoring: false },
  // A region without zones.
  { regions: [{ name: "westus", short: "wu" }], zoneRedundant: true },
];

function ofDeployment(project: Project, file: string, given: Fields): Finding[] {
  let resources: readonly Resource[];
  try {
    resources = deployment(project, given);
  } catch (error) {
    return [findingAt({ file, line: 1, column: 1 }, "deployment", messageOf(error))];
  }
  const text = (name: string) => project.files.get(name) ?? "";
  const tell = (resource: Resource, rule: RuleName, about: string, says: string) =>
    findingAt(placeOfText(resource.file, text(resource.file), about), rule, says);
  const seen = new Set<string>();
  const ofEach = resources.flatMap((one) => {
    const twice = seen.has(one.id);
    seen.add(one.id);
    return [
      ...(twice ? [tell(one, "resource-name", one.type, `${one.id} is deployed twice`)] : []),
      ...nameProblems(one).map((says) => tell(one, "resource-name", one.type, says)),
      ...publishProblems(one).map((says) => tell(one, "publish-path", "publicNetworkAccess", says)),
      ...scaleProblems(one, resources).map((says) => tell(one, "scale-queue", "azureQueue:", says)),
    ];
  });
  return [...ofEach, ...refused(project, resources, given)];
}

/** Lengths and characters of names (learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules). */
const nameRules: Readonly<Record<string, RegExp>> = {
  "Microsoft.Storage/storageAccounts": /^[a-z0-9]{3,24}$/,
  "Microsoft.Storage/storageAccounts/blobServices/containers": /^(?!.*--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/,
  "Microsoft.Storage/storageAccounts/queueServices/queues": /^(?!.*--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/,
  "Microsoft.App/containerApps": /^(?!.*--)[a-z][a-z0-9-]{0,30}[a-z0-9]$/,
  "Microsoft.Web/sites": /^[a-zA-Z0-9][a-zA-Z0-9-]{0,58}[a-zA-Z0-9]$/,
  "Microsoft.Web/serverfarms": /^[a-zA-Z0-9-]{1,60}$/,
  "Microsoft.ManagedIdentity/userAssignedIdentities": /^[a-zA-Z0-9][a-zA-Z0-9_-]{2,127}$/,
  "Microsoft.OperationalInsights/workspaces": /^[a-zA-Z0-9][a-zA-Z0-9-]{2,61}[a-zA-Z0-9]$/,
  "Microsoft.Insights/components": /^[^%&\\?/]{1,259}[^%&\\?/. ]$/,
  "Microsoft.Insights/scheduledQueryRules": /^[^*<>%{}&:\\?/#]{1,259}[^*<>%{}&:\\?/#. ]$/,
  "Microsoft.Insights/actionGroups": /^[^:<>+/&%\\?|]{1,259}[^:<>+/&%\\?|. ]$/,
  "Microsoft.Network/virtualNetworks": /^[a-zA-Z0-9][\w.-]{0,62}\w$/,
  "Microsoft.Network/virtualNetworks/subnets": /^[a-zA-Z0-9]([\w.-]{0,78}\w)?$/,
  "Microsoft.Network/virtualNetworks/virtualNetworkPeerings": /^[a-zA-Z0-9]([\w.-]{0,78}\w)?$/,
  "Microsoft.Network/privateEndpoints": /^[a-zA-Z0-9][\w.-]{0,62}\w$/,
  "Microsoft.Network/privateDnsZones/virtualNetworkLinks": /^[a-zA-Z0-9]([\w.-]{0,78}\w)?$/,
};

function nameProblems({ type, name }: Resource): string[] {
  const rule = nameRules[type];
  return rule === undefined || rule.test(name) ? [] : [`${type} cannot be called ${name}`];
}

/**
 * `publicNetworkAccess: Disabled` closes the site for publishing as well (github.com/MicrosoftDocs/azure-docs/issues/109558).
 */
function publishProblems({ type, name, body }: Resource): string[] {
  if (type !== "Microsoft.Web/sites") return [];
  const of = (...path: string[]) => at(body, "properties", ...path);
  const open =
    of("publicNetworkAccess") === "Enabled" &&
    of("siteConfig", "scmIpSecurityRestrictionsDefaultAction") === "Allow" &&
    of("siteConfig", "scmIpSecurityRestrictionsUseMain") === false;
  return open ? [] : [`no package can be published to ${name} from outside of its network`];
}

/** What scales by a queue asks for its length as an identity of its own, which needs a role there. */
function scaleProblems(one: Resource, all: readonly Resource[]): string[] {
  if (one.type !== "Microsoft.App/containerApps") return [];
  const identities = Object.keys((at(one.body, "identity", "userAssignedIdentities") ?? {}) as Fields);
  return itemsOf(at(one.body, "properties", "template", "scale", "rules")).flatMap((rule) => {
    const [name, asks] = ["queueName", "identity"].map((key) => String(at(rule, "azureQueue", key)));
    const queue = all.find(({ type, name: of }) => type.endsWith("/queueServices/queues") && of === name);
    if (queue === undefined) return [`no queue is called ${name}`];
    if (asks === undefined || !identities.includes(asks)) return [`the rule of ${name} asks as nobody`];
    const asker = asks.split("/").at(-1) ?? "";
    const granted = all.some(
      ({ type, id, body }) =>
        type === "Microsoft.Authorization/roleAssignments" &&
        id.startsWith(`${queue.id}/`) &&
        String(at(body, "properties", "principalId")).includes(`${asker}.`),
    );
    return granted ? [] : [`${asker} has no role on the queue ${name}`];
  });
}

/** Each region that is accepted, with each redundancy that is, gets one that its region offers. */
function redundancy(project: Project): Finding[] {
  const regions = find(project, sharedFile, "flexRegion")?.type;
  const [allowed] = find(project, mainFile, "dataSku")?.decorators.get("allowed") ?? [];
  const wordsIn = (text = "") => [...text.matchAll(/'(\w+)'/g)].map(([, word]) => word ?? "");
  /** The value of an expression in a region, or why there is none. */
  const inRegion = (file: string, node: Node | undefined, given: Fields): string => {
    const template = project.templates.get(file);
    try {
      return template && node ? String(expressionValue(project, template, given, node)) : "nothing";
    } catch (error) {
      return messageOf(error);
    }
  };
  const host = bodyOf(find(project, appFile, "hostStorage")?.value);
  const wrong = wordsIn(regions?.text).flatMap((region) => {
    const data = wordsIn(allowed?.text).map((dataSku) =>
      inRegion(mainFile, find(project, mainFile, "sku")?.value, { regions: [{ name: region }], dataSku }),
    );
    const zones = { location: region, zoneRedundant: true };
    const got = [...data, inRegion(appFile, propertyAt(host, "sku", "name")?.value, zones)];
    return got
      .filter((sku) => !/^Standard_/.test(sku) || !offers(region, sku))
      .map((sku) => `${region}: ${sku}`);
  });
  const place = find(project, sharedFile, "regionsWithoutZones")?.place ?? {
    file: sharedFile,
    line: 1,
    column: 1,
  };
  return [...new Set(wrong)].map((says) => findingAt(place, "redundancy", `${says} is not offered there`));
}

/** Subnets and peerings of a network wait for one another (github.com/Azure/bicep/issues/2579 and 6278). */
function peerings({ templates }: Project): Finding[] {
  return [...templates.values()].flatMap(({ declarations }) => {
    const all = declarations.filter(({ target }) =>
      /\/virtualNetworks\/(subnets|virtualNetworkPeerings)@/.test(target ?? ""),
    );
    const waits = all.filter(({ value }) => {
      const list = propertyAt(bodyOf(value), "dependsOn")?.value;
      const named = list === undefined ? [] : namedChildren(list).map((one) => stringOf(one) ?? one.text);
      return all.some(({ name }) => named.includes(name));
    });
    if (all.length < 2 || waits.length >= all.length - 1) return [];
    const [first] = all;
    return first === undefined
      ? []
      : [
          findingAt(
            first.place,
            "peering-order",
            "two changes of one network race; one must depend on the other",
          ),
        ];
  });
}
