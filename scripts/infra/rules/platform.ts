import type { Finding } from "../finding.ts";
import {
  assignmentsOf,
  at,
  type Fields,
  fieldsAt,
  type Json,
  listAt,
  nameOf,
  prop,
  type Resource,
} from "../json.ts";
import type { Project } from "../project.ts";
import { offers, withGeoZones, withZones } from "../regions.ts";

type Rule = Finding["rule"];
type Wrong = readonly [Rule, string];

/** What a deployment must be beyond what the compiler knows: closed, well named, published to, and its roles in time. */
export function platform(project: Project): Finding[] {
  const ofSnapshots = [...project.snapshots].flatMap(([file, all]) =>
    [
      ...all.flatMap((one) => [...hardened(one), ...named(one), ...publishable(one), ...scaled(one, all)]),
      ...all.flatMap(offered),
      ...secrets(all),
    ].map(([rule, says]): Finding => ({ rule, file, says })),
  );
  const ofTemplates = [...project.templates].flatMap(([file, template]) =>
    [
      ...rolesFirst(file, template),
      ...changesInOrder(template),
      ...regionLists(template),
      ...keys(template),
      ...parameters(template),
    ].map(([rule, says]): Finding => ({ rule, file, says })),
  );
  return [...ofSnapshots, ...ofTemplates];
}

/** What each resource must say: the path of the property, and the values that are right. */
const hardening: Readonly<Record<string, readonly (readonly [path: string, ...right: Json[]])[]>> = {
  "Microsoft.Storage/storageAccounts": [
    ["allowSharedKeyAccess", false],
    ["allowBlobPublicAccess", false],
    ["defaultToOAuthAuthentication", true],
    ["allowCrossTenantReplication", false],
    ["isLocalUserEnabled", false],
    ["supportsHttpsTrafficOnly", true],
    ["minimumTlsVersion", "TLS1_2", "TLS1_3"],
  ],
  "Microsoft.Storage/storageAccounts/blobServices/containers": [["publicAccess", "None"]],
  "Microsoft.Web/sites": [
    ["httpsOnly", true],
    ["siteConfig.minTlsVersion", "1.2", "1.3"],
    ["siteConfig.scmMinTlsVersion", "1.2", "1.3"],
    ["siteConfig.remoteDebuggingEnabled", false],
  ],
  "Microsoft.Web/sites/basicPublishingCredentialsPolicies": [["allow", false]],
  "Microsoft.Insights/components": [["DisableLocalAuth", true]],
};
/** The account of people's data: what is deleted comes back for a while. */
const ofData: typeof hardening = {
  // Or the firewall may block the rules of the life cycle.
  "Microsoft.Storage/storageAccounts": [["networkAcls.bypass", "AzureServices"]],
  "Microsoft.Storage/storageAccounts/blobServices": [
    ["deleteRetentionPolicy.enabled", true],
    ["containerDeleteRetentionPolicy.enabled", true],
    // A version for each heartbeat of a leader.
    ["isVersioningEnabled", false],
  ],
};
const dataAccount = /^[^/]*data(\/|$)/;

function hardened(one: Resource): Wrong[] {
  const wanted = [
    ...(hardening[one.type] ?? []),
    ...(dataAccount.test(one.name) ? (ofData[one.type] ?? []) : []),
  ];
  return wanted
    .filter(([path, ...right]) => !right.includes(prop(one, ...path.split("."))))
    .map(([path, ...right]) => ["hardening", `${one.name}: ${path} must be ${right.join(" or ")}`]);
}

/** Connections by their one name win over the identity of those with `__`. */
function secrets(all: readonly Resource[]): Wrong[] {
  return all.flatMap((one): Wrong[] => {
    const text = JSON.stringify(one);
    const withKey = /AccountKey=|SharedAccessSignature=|[?&]sig=/.test(text);
    const plain = one.type.endsWith("/config") ? Object.keys(fieldsAt(one, "properties")) : [];
    const unresolved =
      one.type === "Microsoft.Web/sites" && prop(one, "keyVaultReferenceIdentity") === undefined;
    return [
      ...(withKey ? [["secret", `${one.name} holds a key`] as Wrong] : []),
      ...plain
        .filter((key) => /^(AzureWebJobsStorage|DataStorage)$/.test(key))
        .map((key): Wrong => ["secret", `${key} as one text would win over the identity`]),
      // MicrosoftDocs/azure-docs#128143: the identity of the system resolves references otherwise, and there is none.
      ...(unresolved
        ? [["key-vault", `${one.name} needs keyVaultReferenceIdentity, or reads references as text`] as Wrong]
        : []),
      ...ofContainers(one),
      ...listAt(one, "properties", "template", "containers").flatMap((container) =>
        listAt(container, "env")
          .filter((variable) => String(at(variable, "value")).startsWith("@Microsoft.KeyVault"))
          .map(
            (variable): Wrong => [
              "key-vault",
              `${String(at(variable, "name"))}: containers resolve no reference; use a secret`,
            ],
          ),
      ),
    ];
  });
}

/** Whoever may read a resource or a deployment reads its plain variables. */
const plainVariables = /^(DataStorage__|LEASEFOLD_|AzureFunctionsJobHost__)\w+$/;
const secretName = /SECRET|TOKEN|PASSWORD|CREDENTIALS|HEADERS|_KEY/i;

/** Secrets of a container app come from a vault, by its identity, and its variables name them. */
function ofContainers(one: Resource): Wrong[] {
  const given = [...listAt(one, "properties", "configuration", "secrets")];
  const fromVault = given.filter(
    (secret) =>
      at(secret, "value") === undefined &&
      at(secret, "identity") !== undefined &&
      /^https:\/\/[^/]+\/secrets\/[\w-]+/.test(String(at(secret, "keyVaultUrl"))),
  );
  const known = fromVault.map((secret) => at(secret, "name"));
  const { template } = fieldsAt(one, "properties");
  const containers = [...listAt(template ?? {}, "containers"), ...listAt(template ?? {}, "initContainers")];
  const variables = containers.flatMap((container) => [...listAt(container, "env")]);
  const isRight = (variable: Json): boolean => {
    const name = String(at(variable, "name"));
    if (at(variable, "secretRef") !== undefined)
      return at(variable, "value") === undefined && known.includes(at(variable, "secretRef"));
    return plainVariables.test(name) && !secretName.test(name);
  };
  return [
    ...given
      .filter((secret) => !fromVault.includes(secret))
      .map(
        (secret): Wrong => [
          "secret",
          `${String(at(secret, "name"))}: a secret of containers is keyVaultUrl and identity, and no value`,
        ],
      ),
    ...variables
      .filter((variable) => !isRight(variable))
      .map(
        (variable): Wrong => [
          "secret",
          `${String(at(variable, "name"))}: who may read the app or a deployment reads a plain variable; use secretRef`,
        ],
      ),
  ];
}

/** Parameters that may hold a secret are left out of what a deployment shows, also those of modules. */
function parameters(template: Json): Wrong[] {
  if (typeof template !== "object" || template === null) return [];
  if (Array.isArray(template)) return template.flatMap((one) => parameters(one as Json));
  const fields = template as Fields;
  const own = "$schema" in fields ? Object.entries(fieldsAt(fields, "parameters")) : [];
  return [
    ...own
      .filter(
        ([name, one]) =>
          secretName.test(name.replace(/([a-z])([A-Z])/g, "$1_$2")) &&
          !/^secure/i.test(String(at(one, "type"))),
      )
      .map(([name]): Wrong => ["secret", `${name} may hold a secret: say @secure()`]),
    ...Object.values(fields).flatMap((one) => parameters(one)),
  ];
}

/** A template that asks Azure for a key: `listKeys` and its like. */
const keys = (template: Fields): Wrong[] =>
  [
    ...JSON.stringify(template).matchAll(
      /\blist(?:Keys|AccountSas|ServiceSas|Secrets|ConnectionStrings|Credentials)\(/g,
    ),
  ].map(([call]): Wrong => ["secret", `${call}) reads a key; use an identity and a role`]);

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

function named(one: Resource): Wrong[] {
  const name = one.name.startsWith("[") ? (/'([^']+)'\)\]$/.exec(one.name)?.[1] ?? "") : nameOf(one);
  const rule = nameRules[one.type];
  return rule === undefined || rule.test(name)
    ? []
    : [["resource-name", `${one.type} cannot be called ${name}`]];
}

/** `publicNetworkAccess: Disabled` closes a site for publishing as well (github.com/MicrosoftDocs/azure-docs/issues/109558). */
function publishable(one: Resource): Wrong[] {
  if (one.type !== "Microsoft.Web/sites") return [];
  const open =
    prop(one, "publicNetworkAccess") === "Enabled" &&
    prop(one, "siteConfig", "scmIpSecurityRestrictionsDefaultAction") === "Allow" &&
    prop(one, "siteConfig", "scmIpSecurityRestrictionsUseMain") === false;
  return open
    ? []
    : [["publish-path", `no package can be published to ${one.name} from outside of its network`]];
}

/** What scales by a queue asks for its length as an identity of its own, which needs a role there. */
function scaled(one: Resource, all: readonly Resource[]): Wrong[] {
  if (one.type !== "Microsoft.App/containerApps") return [];
  const identities = Object.keys(fieldsAt(one, "identity", "userAssignedIdentities"));
  return listAt(one, "properties", "template", "scale", "rules").flatMap((rule): Wrong[] => {
    const name = String(at(rule, "azureQueue", "queueName"));
    const asks = String(at(rule, "azureQueue", "identity"));
    const queue = all.find((other) => other.type.endsWith("/queueServices/queues") && nameOf(other) === name);
    if (queue === undefined) return [["scale-queue", `no queue is called ${name}`]];
    if (!identities.includes(asks)) return [["scale-queue", `the rule of ${name} asks as nobody`]];
    const asker = asks.split("/").at(-1) ?? "";
    const granted = assignmentsOf(all).some(
      ({ scope, principal }) => scope === queue.id && principal === asker,
    );
    return granted ? [] : [["scale-queue", `${asker} has no role on the queue ${name}`]];
  });
}

/** Storage has a redundancy that its region offers. */
function offered(one: Resource): Wrong[] {
  if (one.type !== "Microsoft.Storage/storageAccounts") return [];
  const [region, sku] = [String(at(one, "location")), String(at(one, "sku", "name"))];
  return /^Standard_/.test(sku) && offers(region, sku)
    ? []
    : [["redundancy", `${one.name}: ${sku} is not offered in ${region}`]];
}

/** The lists of the template are those of Microsoft (`regions.ts`), less the regions without Flex Consumption. */
function regionLists(template: Fields): Wrong[] {
  const regions = listAt(template, "definitions", "_1.flexRegion", "allowedValues").map(String);
  const lists = [
    ["regionsWithoutZones", regions.filter((one) => !withZones.has(one))],
    ["regionsWithoutGeoZones", regions.filter((one) => withZones.has(one) && !withGeoZones.has(one))],
  ] as const;
  return lists
    .filter(
      ([name, right]) => regions.length > 0 && String(listAt(template, "variables", name)) !== String(right),
    )
    .map(([name, right]) => ["redundancy", `${name} must be ${right.join(", ")}`]);
}

/** A module or resource of a compiled template, by its symbolic name. */
const partsOf = (template: Fields): [string, Fields][] =>
  Object.entries(fieldsAt(template, "resources")).map(([name, part]) => [name, fieldsAt({ part }, "part")]);
const after = (part: Fields): string[] => listAt(part, "dependsOn").map(String);

/**
 * Roles take minutes to arrive, and a publish needs them (github.com/Azure/azure-dev/issues/8026): they are made before the site,
 * so that the time of the site is theirs.
 */
function rolesFirst(file: string, template: Fields): Wrong[] {
  const apps = partsOf(template).find(([name]) => name === "apps")?.[1];
  if (file !== "infra/main.bicep") return [];
  return apps !== undefined && after(apps).includes("appRoles")
    ? []
    : [
        [
          "role-order",
          "the apps must depend on appRoles: a site whose host has no role yet refuses the first publish",
        ],
      ];
}

/** Every template of modules, and the outermost. */
function* everyTemplate(template: Fields): Generator<Fields> {
  yield template;
  for (const [, part] of partsOf(template)) {
    const inner = at(part, "properties", "template");
    if (inner !== undefined) yield* everyTemplate(fieldsAt({ inner }, "inner"));
  }
}

/** Writes to one parent that Azure takes only one after the other: a loop of them needs `@batchSize(1)`. */
const races: Readonly<Record<string, string>> = {
  "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials":
    "ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity (github.com/Azure/bicep/issues/10928)",
  "Microsoft.Network/privateEndpoints":
    "StorageAccountOperationInProgress (github.com/Azure/bicep-registry-modules/issues/6001)",
};
/** Subnets and peerings of a network wait for one another (github.com/Azure/bicep/issues/2579 and 6278). */
const networkParts = /\/virtualNetworks\/(subnets|virtualNetworkPeerings)$/;

function changesInOrder(template: Fields): Wrong[] {
  return [...everyTemplate(template)].flatMap((one): Wrong[] => {
    const parts = partsOf(one).filter(([, part]) => part["existing"] !== true);
    const raced = parts
      .filter(([, part]) => races[String(part["type"])] !== undefined && part["copy"] !== undefined)
      .filter(([, part]) => at(part, "copy", "mode") !== "serial" || at(part, "copy", "batchSize") !== 1);
    const changes = parts.filter(([, part]) => networkParts.test(String(part["type"])));
    const names = changes.map(([name]) => name);
    const waiting = changes.filter(([, part]) => after(part).some((name) => names.includes(name)));
    return [
      ...raced.map(
        ([name, part]): Wrong => [
          "change-order",
          `${name} needs @batchSize(1): ${races[String(part["type"])]}`,
        ],
      ),
      ...(changes.length > 1 && waiting.length < changes.length - 1
        ? [["change-order", "two changes of one network race; one must depend on the other"] as Wrong]
        : []),
    ];
  });
}
