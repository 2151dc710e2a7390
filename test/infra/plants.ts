import type { Finding } from "../../scripts/infra/finding.ts";
import { type Fields, type Json, type Resource, roleAssignments } from "../../scripts/infra/json.ts";
import type { Project } from "../../scripts/infra/project.ts";

/** One mistake: what is changed, the rule that has to say so, and what it says. */
export interface Plant {
  readonly rule: Finding["rule"];
  readonly what: string;
  readonly says: RegExp;
  /** Returns the project with the mistake; throws where there is nothing to change any more. */
  readonly plant: (project: Project) => Project;
}

type Change = Omit<Plant, "rule" | "says">;
const plant = (rule: Plant["rule"], says: RegExp, change: Change): Plant => ({ rule, says, ...change });

/** In a text, `from` becomes `to`. */
const inText = (file: string, from: string, to: string): Change => ({
  what: `${file}: ${to.trim() === "" ? `without ${from.trim()}` : to.trim()}`,
  plant(project) {
    const text = project.files.get(file) ?? "";
    if (!text.includes(from)) throw new Error(`${file} no longer has ${from}`);
    return {
      ...project,
      files: new Map(project.files).set(
        file,
        text.replace(from, () => to),
      ),
    };
  },
});

/** A value of JSON with another one at a path; `undefined` takes it away. */
function withAt(value: Json, [key, ...rest]: readonly string[], to: Json): Json {
  if (key === undefined) return to;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as Fields) }) as Record<string, Json>;
  copy[key] = withAt(copy[key], rest, to);
  return copy;
}

/** In what a parameter file deploys, the first resource of that type, and with that text in its name, has another value at a path. */
const deployed = (type: string, path: string, to: Json, { file = "main", named = "" } = {}): Change => ({
  what: `${file}: ${type} ${path} = ${JSON.stringify(to)}`,
  plant(project) {
    const snapshot = `infra/${file}.snapshot.json`;
    const all = [...(project.snapshots.get(snapshot) ?? [])];
    const found = all.findIndex((one) => one.type === type && one.name.includes(named));
    if (found < 0) throw new Error(`${snapshot} has no ${type} ${named}`);
    all[found] = withAt(all[found], path.split("."), to) as Resource;
    return { ...project, snapshots: new Map(project.snapshots).set(snapshot, all) };
  },
});

/** In the compiled main template a path has another value; a key that holds dots is given as a list. */
const compiled = (path: readonly string[], to: Json, file = "infra/main.bicep"): Change => ({
  what: `${file}: ${path.join(".")} = ${JSON.stringify(to)}`,
  plant(project) {
    const template = project.templates.get(file);
    if (template === undefined) throw new Error(`${file} is not compiled`);
    return {
      ...project,
      templates: new Map(project.templates).set(file, withAt(template, path, to) as Fields),
    };
  },
});

const account = "Microsoft.Storage/storageAccounts";
const container = `${account}/blobServices/containers`;
const queue = `${account}/queueServices/queues`;
const policy = `${account}/managementPolicies`;
const site = "Microsoft.Web/sites";
const settings = "Microsoft.Web/sites/config";
const workers = "Microsoft.App/containerApps";
const subnet = "Microsoft.Network/virtualNetworks/subnets";
const alert = "Microsoft.Insights/scheduledQueryRules";
const credential = "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials";
const inContainers = { file: "container-workers" };
const inNetwork = { file: "private-network" };
const inBootstrap = { file: "bootstrap" };
const workflow = ".github/workflows/deploy.yml";
const scale = "properties.functionAppConfig.scaleAndConcurrency";
const modulePath = (module: string, resource: string, ...path: string[]) => [
  ...["resources", module, "properties", "template", "resources", resource],
  ...path,
];

/** Mistakes in texts and snapshots, which need no compiler. */
export const plants: readonly Plant[] = [
  plant(
    "hardening",
    /allowSharedKeyAccess must be false/,
    deployed(account, "properties.allowSharedKeyAccess", true),
  ),
  plant("hardening", /minimumTlsVersion/, deployed(account, "properties.minimumTlsVersion", undefined)),
  plant(
    "hardening",
    /networkAcls\.bypass/,
    deployed(account, "properties.networkAcls.bypass", "None", { named: "data" }),
  ),
  plant("hardening", /publicAccess/, deployed(container, "properties.publicAccess", "Blob")),
  plant(
    "hardening",
    /isVersioningEnabled/,
    deployed(`${account}/blobServices`, "properties.isVersioningEnabled", true),
  ),
  plant(
    "hardening",
    /deleteRetentionPolicy/,
    deployed(`${account}/blobServices`, "properties.deleteRetentionPolicy.enabled", false),
  ),
  plant("hardening", /httpsOnly/, deployed(site, "properties.httpsOnly", false)),
  plant(
    "hardening",
    /DisableLocalAuth/,
    deployed("Microsoft.Insights/components", "properties.DisableLocalAuth", false),
  ),
  plant("secret", /win over the identity/, deployed(settings, "properties.DataStorage", "https://x")),
  plant(
    "secret",
    /holds a key/,
    deployed(settings, "properties.DataStorage__blobServiceUri", "AccountKey=abc"),
  ),
  plant(
    "key-vault",
    /keyVaultReferenceIdentity/,
    deployed(site, "properties.keyVaultReferenceIdentity", undefined),
  ),
  plant(
    "key-vault",
    /TOKEN: containers resolve no reference/,
    deployed(
      workers,
      "properties.template.containers.0.env.0",
      { name: "TOKEN", value: "@Microsoft.KeyVault(x)" },
      inContainers,
    ),
  ),
  ...(
    [
      [/QUOTES_TOKEN: who may read/, "template.containers.0.env.0", { name: "QUOTES_TOKEN", value: "abc" }],
      [
        /OTEL_EXPORTER_OTLP_HEADERS: who may read/,
        "template.containers.0.env.1",
        { name: "OTEL_EXPORTER_OTLP_HEADERS", value: "a=b" },
      ],
      [
        /LEASEFOLD_WEBHOOK_SECRET: who may read/,
        "template.containers.0.env.1",
        { name: "LEASEFOLD_WEBHOOK_SECRET", value: "abc" },
      ],
      [/ANY: who may read/, "template.containers.0.env.0", { name: "ANY", secretRef: "nowhere" }],
      [
        /quotes-token: a secret of containers/,
        "configuration.secrets.0",
        { name: "quotes-token", value: "abc" },
      ],
      [
        /quotes-token: a secret of containers/,
        "configuration.secrets.0.keyVaultUrl",
        "abc-of-twelve-characters",
      ],
      [/quotes-token: a secret of containers/, "configuration.secrets.0.identity", undefined],
    ] as const
  ).map(([says, path, to]) =>
    plant("secret", says, deployed(workers, `properties.${path}`, to, inContainers)),
  ),
  plant(
    "image-base",
    /name the base by its digest/,
    inText("Dockerfile", "node:24.21.0-slim@sha256:", "node:24.21.0-slim:"),
  ),
  plant(
    "image-scripts",
    /install by npm ci --ignore-scripts alone/,
    inText("Dockerfile", " --ignore-scripts", ""),
  ),
  plant("image-scripts", /npm run build/, inText("Dockerfile", "node scripts/build.mjs", "npm run build")),
  plant("resource-name", /storageAccounts cannot be called lf-/, deployed(account, "name", "lf-data")),
  plant("resource-name", /virtualNetworks\/subnets/, deployed(subnet, "name", "net/-apps", inNetwork)),
  plant(
    "publish-path",
    /no package can be published/,
    deployed(site, "properties.publicNetworkAccess", "Disabled"),
  ),
  plant(
    "publish-path",
    /published/,
    deployed(site, "properties.siteConfig.scmIpSecurityRestrictionsUseMain", true),
  ),
  plant(
    "scale-queue",
    /no queue is called leasefold-pack$/,
    deployed(
      workers,
      "properties.template.scale.rules.0.azureQueue.queueName",
      "leasefold-pack",
      inContainers,
    ),
  ),
  plant(
    "scale-queue",
    /leasefold-packs asks as nobody/,
    deployed(workers, "properties.template.scale.rules.0.azureQueue.identity", undefined, inContainers),
  ),
  plant("scale-queue", /has no role on the queue leasefold-packs/, {
    what: "container-workers: without roles",
    plant: (project) => {
      const file = "infra/container-workers.snapshot.json";
      const all = (project.snapshots.get(file) ?? []).filter(({ type }) => type !== roleAssignments);
      return { ...project, snapshots: new Map(project.snapshots).set(file, all) };
    },
  }),
  plant(
    "redundancy",
    /Standard_ZRS is not offered in westus/,
    deployed(account, "sku.name", "Standard_ZRS", { file: "minimal" }),
  ),
  plant(
    "role-id",
    /no role of the known table/,
    deployed(roleAssignments, "properties.roleDefinitionId", "/x/00000000"),
  ),
  plant(
    "principal-type",
    /say principalType/,
    deployed(roleAssignments, "properties.principalType", undefined),
  ),
  // Rights.
  plant(
    "least-rights",
    /needs Storage Blob Data Reader on containers\/leasefold-inputs/,
    deployed(roleAssignments, "properties.roleDefinitionId", "/x/ba92f5b4-2d11-453d-a403-e96b0029c9fe", {
      named: "-inputs'",
    }),
  ),
  plant(
    "least-rights",
    /signs links where resultLinks is off/,
    deployed(roleAssignments, "properties.roleDefinitionId", "/x/db58b8e5-c6ad-4a2a-8342-4190687cbf4a"),
  ),
  plant("least-rights", /gets Storage Blob Data Contributor on the whole/, {
    what: "two-regions: an operator gets Contributor on the whole account",
    plant: (project) =>
      changeRole(project, ({ id }) => /data\/providers/.test(id), {
        roleDefinitionId: "/x/ba92f5b4-2d11-453d-a403-e96b0029c9fe",
      }),
  }),
  plant("least-rights", /containers\/leasefold-runs without a condition/, {
    what: "two-regions: the condition of an operator is gone",
    plant: (project) =>
      changeRole(project, ({ id }) => /leasefold-runs\/providers/.test(id), { condition: undefined }),
  }),
  ...["*/read", "Microsoft.Web/sites/*/read", "Microsoft.Web/sites/hostruntime/host/_master/read"].map(
    (action) =>
      plant(
        "preview-rights",
        /is more than a preview needs/,
        deployed(
          "Microsoft.Authorization/roleDefinitions",
          "properties.permissions.0.actions.0",
          action,
          inBootstrap,
        ),
      ),
  ),
  plant(
    "preview-rights",
    /a preview needs Microsoft\.App\/containerApps\/read/,
    deployed(
      "Microsoft.Authorization/roleDefinitions",
      "properties.permissions.0.actions.0",
      undefined,
      inBootstrap,
    ),
  ),
  plant("preview-rights", /gets previewRole and no other/, {
    what: "bootstrap: pull requests get Contributor",
    plant: (project) =>
      changeRole(
        project,
        ({ properties }) => JSON.stringify(properties).includes("previewer"),
        { roleDefinitionId: "/x/b24988ac-6180-42a0-ab88-20f7382dd24c" },
        "infra/bootstrap.snapshot.json",
      ),
  }),
  // What the code says.
  plant(
    "drift-containers",
    /aktive is not in/,
    deployed(container, "name", "d/default/leasefold-aktive", { named: "leasefold-active" }),
  ),
  plant(
    "drift-queues",
    /wake-poison of src\/engine\/model\/names\.ts is missing/,
    deployed(queue, "type", "x", { named: "wake-poison" }),
  ),
  plant(
    "lifecycle-scope",
    /leasefold-active\//,
    deployed(policy, "properties.policy.rules.0.definition.filters.prefixMatch.0", "leasefold-active/"),
  ),
  plant(
    "drift-functions",
    /no function is called wroker/,
    deployed(site, `${scale}.alwaysReady`, [{ name: "function:wroker" }]),
  ),
  plant(
    "drift-functions",
    /coordinater/,
    inText("infra/queries/no-tick.kql", '== "coordinator"', '== "coordinater"'),
  ),
  plant(
    "drift-settings",
    /LEASEFOLD_COLOR is no setting/,
    deployed(settings, "properties.LEASEFOLD_COLOR", "red"),
  ),
  plant(
    "drift-settings",
    /DataStorage__clientId cannot be set/,
    deployed(settings, "properties.DataStorage__clientId", undefined),
  ),
  plant(
    "drift-sample",
    /is refused/,
    inText("local.settings.sample.json", '"LEASEFOLD_LOOP_MS": "500"', '"LEASEFOLD_LOOP_MS": "5"'),
  ),
  plant(
    "drift-events",
    /no event is called lease-claim$/,
    inText("infra/queries/two-holders.kql", '"lease-claimed"', '"lease-claim"'),
  ),
  plant(
    "drift-events",
    /no event has a field too/,
    inText("infra/queries/runs.kql", 'fields["to"]', 'fields["too"]'),
  ),
  plant(
    "drift-queries",
    /no template loads/,
    inText("infra/modules/alerts.bicep", "queries/poison.kql", "queries/poisoned.kql"),
  ),
  plant(
    "query",
    /line \d+: .*operator expected/,
    inText("infra/queries/poison.kql", "| summarize messages", "| summarise messages"),
  ),
  plant("query", /Mesage/, inText("infra/queries/poison.kql", "parse_json(Message)", "parse_json(Mesage)")),
  plant(
    "drift-page",
    /LEASEFOLD_BUDGET_S/,
    inText("docs/OPERATIONS.md", "| `LEASEFOLD_BUDGET_S` |", "| the budget |"),
  ),
  plant(
    "drift-operations",
    /the alert stalled-run/,
    inText("docs/OPERATIONS.md", "### stalled-run", "### stuck-run"),
  ),
  plant(
    "drift-version",
    /npm install --no-save --force @duckdb/,
    inText("docs/OPERATIONS.md", "@duckdb/node-bindings-linux-x64@", "@duckdb/node-bindings-linux-x64@0."),
  ),
  plant(
    "drift-version",
    /must install Bicep/,
    inText(".ci/bicep.csproj", 'x64" Version="', 'x64" Version="9'),
  ),
  plant(
    "drift-host",
    /plain JSON/,
    inText("host.json", '"messageEncoding": "none"', '"messageEncoding": "base64"'),
  ),
  plant("drift-host", /batchSize/, inText("host.json", '"batchSize": 1', '"batchSize": 99')),
  plant(
    "drift-host",
    /PACK_LIMIT/,
    inText("host.json", '"functionTimeout": "00:10:00"', '"functionTimeout": "00:05:00"'),
  ),
  plant(
    "drift-host",
    /BUDGET/,
    deployed(settings, "properties.AzureFunctionsJobHost__functionTimeout", "00:20:00"),
  ),
  plant("drift-host", /2 threads of 512 MB/, deployed(site, `${scale}.instanceMemoryMB`, 512)),
  plant(
    "drift-host",
    /sample requests/,
    inText("host.json", '"Exception;Trace"', '"Request;Exception;Trace"'),
  ),
  plant("drift-host", /excludedTypes needs Trace/, inText("host.json", '"Exception;Trace"', '"Exception"')),
  plant(
    "drift-host",
    /sample requests/,
    inText("host.json", '"maxSamplingPercentage": 5', '"maxSamplingPercentage": 99'),
  ),
  plant(
    "drift-host",
    /Host\.Startup must be Warning/,
    inText("host.json", '      "Host.Startup": "Warning",\n', ""),
  ),
  plant(
    "drift-host",
    /Function\.worker must be Warning/,
    inText("host.json", '      "Function.worker": "Warning",\n', ""),
  ),
  plant(
    "drift-host",
    /workerUrgent\.User/,
    inText("host.json", ',\n      "Function.workerUrgent.User": "Information"', ""),
  ),
  // The way to Azure.
  plant("remote-build", /remoteBuild/, inText("azure.yaml", "remoteBuild: false\n", "remoteBuild: true\n")),
  plant("remote-build", /node_modules\/\*/, inText(".funcignore", "\nnode_modules/*\n", "\nnode_modules\n")),
  plant("azd-version", /at least 1\.23\.13/, inText("azure.yaml", '">= 1.23.13"', '">= 1.23.5"')),
  plant("azd-service", /backend/, inText("azure.yaml", "  app:\n", "  backend:\n")),
  plant(
    "azd-service",
    /must be AZURE_ENV_NAME/,
    inText("infra/main.bicepparam", "'AZURE_ENV_NAME'", "'NAME'"),
  ),
  plant(
    "package",
    /libduckdb\.so would be missing/,
    inText(".funcignore", "\nnode_modules/*\n", "\nnode_modules\n"),
  ),
  plant(
    "package",
    /package\.json would be missing/,
    inText(".funcignore", "\n/package-lock.json\n", "\npackage\n"),
  ),
  plant("package", /test would be in the package/, inText(".funcignore", "\n/test\n", "\n")),
  plant("package", /\.azure would be in the package/, inText(".funcignore", "\n/.azure\n", "\n")),
  plant("package", /calculations would be in the package/, inText(".funcignore", "\n/calculations\n", "\n")),
  plant(
    "package",
    /dist\/calculations would be missing/,
    inText(".funcignore", "\n/calculations\n", "\ncalculations\n"),
  ),
  plant("package", /any\.ts would be in the package/, inText(".funcignore", "\n*.ts\n", "\n")),
  plant("package", /dist\/index\.cjs would be missing/, inText(".funcignore", "dist/*.map", "dist/*")),
  plant(
    "workflow-pin",
    /checkout@v7/,
    inText(workflow, "@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1", "@v7"),
  ),
  plant(
    "workflow-secret",
    /federation/,
    inText(workflow, "client-id: ${{ vars.AZURE_CLIENT_ID }}", "creds: ${{ secrets.AZURE }}"),
  ),
  plant("workflow-scripts", /no lockfile hashes/, inText(workflow, "npm ci --ignore-scripts", "npm ci")),
  plant("workflow-permissions", /permissions/, inText(workflow, "permissions: {}\n", "")),
  plant(
    "workflow-identity",
    /would hold the identity that deploys/,
    inText(workflow, "vars.AZURE_PREVIEW_CLIENT_ID }}", "vars.AZURE_CLIENT_ID }}"),
  ),
  plant(
    "workflow-identity",
    /run in production/,
    inText(workflow, "environment: preview", "environment: production"),
  ),
  plant(
    "workflow-identity",
    /environment production/,
    inText(workflow, "environment: production", "environment: staging"),
  ),
  plant(
    "workflow-commit",
    /wait until/,
    inText(workflow, '"$found" = "$GITHUB_SHA"', '"$found" = "$wanted"'),
  ),
  plant(
    "workflow-commit",
    /restarts the app/,
    inText(workflow, "        if: steps.there.outputs.commit != github.sha\n", ""),
  ),
  plant("workflow-publish", /once more/, inText(workflow, "        continue-on-error: true\n", "")),
  // What Azure has refused.
  plant(
    "refused-site-config",
    /ftpsState.*51021.*azure-cli\/issues\/31414/,
    deployed(site, "properties.siteConfig.ftpsState", "Disabled"),
  ),
  plant(
    "refused-admin-isolation",
    /403/,
    deployed(site, "properties.functionsRuntimeAdminIsolationEnabled", true),
  ),
  plant(
    "refused-app-setting",
    /FUNCTIONS_WORKER_RUNTIME/,
    deployed(settings, "properties.FUNCTIONS_WORKER_RUNTIME", "node"),
  ),
  plant(
    "refused-flex-config",
    /needs runtime/,
    deployed(site, "properties.functionAppConfig.runtime", undefined),
  ),
  plant("refused-instance-count", /at most 10/, deployed(site, `${scale}.maximumInstanceCount`, 10)),
  plant(
    "refused-runtime",
    /node 24\.0/,
    deployed(site, "properties.functionAppConfig.runtime.version", "24.0"),
  ),
  plant(
    "refused-zones",
    /westus/,
    deployed("Microsoft.Web/serverfarms", "properties.zoneRedundant", true, { file: "minimal" }),
  ),
  plant(
    "refused-container-size",
    /4 cores with 2Gi/,
    deployed(workers, "properties.template.containers.0.resources.memory", "2Gi", inContainers),
  ),
  plant("refused-registration", /Microsoft\.App/, inText("docs/OPERATIONS.md", "`Microsoft.App`", "")),
  plant(
    "refused-registration",
    /before "Five commands"/,
    inText("docs/OPERATIONS.md", "## Once per subscription\n", "## Five commands\n"),
  ),
  plant(
    "refused-subject",
    /refs\/heads\/main is not how/,
    deployed(credential, "properties.subject", "repo:OWNER@1/NAME@2:ref:refs/heads/main", inBootstrap),
  ),
  plant("refused-subject-twice", /has the subject of another/, {
    what: "bootstrap: a second credential of the deployer",
    plant: (project) => {
      const file = "infra/bootstrap.snapshot.json";
      const all = project.snapshots.get(file) ?? [];
      const twin = all.find(({ type }) => type === credential) as Resource;
      const again = { ...twin, name: `${twin.name}-again` };
      return { ...project, snapshots: new Map(project.snapshots).set(file, [...all, again]) };
    },
  }),
  plant("refused-role-change", /lacks its principal/, deployed(roleAssignments, "name", "[guid('a', 'b')]")),
  plant("refused-role-twice", /has a role twice/, {
    what: "main: a role twice",
    plant: (project) => {
      const file = "infra/main.snapshot.json";
      const all = project.snapshots.get(file) ?? [];
      const twin = all.find(({ type }) => type === roleAssignments) as Resource;
      return {
        ...project,
        snapshots: new Map(project.snapshots).set(file, [...all, { ...twin, name: "[again]" }]),
      };
    },
  }),
  plant("refused-policy-name", /not backstop/, deployed(policy, "name", "d/backstop")),
  plant(
    "refused-policy-filter",
    /needs filters/,
    deployed(policy, "properties.policy.rules.0.definition.filters", undefined),
  ),
  plant(
    "refused-subnet-list",
    /deletes any other/,
    deployed("Microsoft.Network/virtualNetworks", "properties.subnets", [], inNetwork),
  ),
  plant("refused-subnet", /flex_apps/, deployed(subnet, "name", "net/flex_apps", inNetwork)),
  plant("refused-alert-window", /PT20M/, deployed(alert, "properties.evaluationFrequency", "PT20M")),
  plant("refused-alert-mute", /cannot be muted/, deployed(alert, "properties.muteActionsDuration", "PT1H")),
  plant(
    "refused-alert-mute",
    /begin with 1/,
    deployed(alert, "properties.criteria.allOf.0.failingPeriods.minFailingPeriodsToAlert", 0),
  ),
  plant(
    "refused-log-cap",
    /0 GB/,
    deployed("Microsoft.OperationalInsights/workspaces", "properties.workspaceCapping.dailyQuotaGb", 0),
  ),
];

/** Mistakes in what the compiler makes of a template. */
export const compiledPlants: readonly Plant[] = [
  plant(
    "secret",
    /listKeys\(/,
    compiled(["outputs", "key", "value"], "[listKeys(resourceId('x'), '2025-01-01').keys[0].value]"),
  ),
  plant(
    "secret",
    /webhookSecret may hold a secret/,
    compiled(["parameters", "webhookSecret"], { type: "string" }),
  ),
  plant("role-order", /apps must depend on appRoles/, compiled(["resources", "apps", "dependsOn"], ["data"])),
  plant(
    "change-order",
    /endpoints needs @batchSize\(1\): StorageAccountOperationInProgress/,
    compiled(modulePath("dataEndpoints", "endpoints", "copy", "mode"), undefined),
  ),
  plant(
    "change-order",
    /credentials needs @batchSize\(1\)/,
    compiled(["resources", "credentials", "copy", "mode"], undefined, "infra/bootstrap.bicep"),
  ),
  ...["toFirst", "endpointSubnets"].map((name) =>
    plant(
      "change-order",
      /one must depend on the other/,
      compiled(modulePath("network", name, "dependsOn"), []),
    ),
  ),
  plant(
    "redundancy",
    /regionsWithoutZones must be/,
    compiled(["variables", "regionsWithoutZones"], ["ukwest"]),
  ),
  plant(
    "redundancy",
    /regionsWithoutGeoZones must be/,
    compiled(["variables", "regionsWithoutGeoZones"], []),
  ),
  plant(
    "role-id",
    /Contributor has the id/,
    compiled(["variables", "deployerRoles", "Contributor"], "x", "infra/bootstrap.bicep"),
  ),
  plant(
    "preview-rights",
    /cannot be one that deploys/,
    compiled(["parameters", "environments", "defaultValue"], ["preview"], "infra/bootstrap.bicep"),
  ),
  plant(
    "drift-settings",
    /LEASEFOLD_THREADS cannot be set/,
    compiled(["definitions", "leasefoldSettings", "properties"], {}),
  ),
  plant(
    "drift-settings",
    /LEASEFOLD_WATCH is no setting for Azure/,
    compiled(["definitions", "leasefoldSettings", "properties", "LEASEFOLD_WATCH"], {}),
  ),
  plant(
    "drift-range",
    /@maxValue\(90\)/,
    compiled(["definitions", "leasefoldSettings", "properties", "LEASEFOLD_LEASE_S", "maxValue"], 90),
  ),
  plant("drift-version", /Node 20/, compiled(["parameters", "runtimeVersion", "allowedValues"], ["20"])),
  plant(
    "drift-version",
    /Node 24 here, 22 in Azure/,
    compiled(["parameters", "runtimeVersion", "defaultValue"], "22"),
  ),
];

function changeRole(
  project: Project,
  which: (one: Resource) => boolean,
  properties: Fields,
  file = "infra/two-regions.snapshot.json",
): Project {
  const all = [...(project.snapshots.get(file) ?? [])];
  const found = all.findIndex((one) => one.type === roleAssignments && which(one));
  if (found < 0) throw new Error(`${file} has no such role`);
  const one = all[found] as Resource;
  all[found] = { ...one, properties: { ...(one["properties"] as Fields), ...properties } };
  return { ...project, snapshots: new Map(project.snapshots).set(file, all) };
}
