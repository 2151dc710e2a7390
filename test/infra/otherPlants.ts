import { type Plant, plant } from "./plant.ts";

const main = "infra/main.bicep";
const app = "infra/modules/functionApp.bicep";
const data = "infra/modules/dataStorage.bicep";
const shared = "infra/shared.bicep";
const alerts = "infra/modules/alerts.bicep";
const oneRegion = "infra/main.parameters.json";
const twoRegions = "infra/two-regions.parameters.json";
const workflow = ".github/workflows/deploy.yml";

const operator =
  '{ "principalId": "00000000-0000-0000-0000-000000000001", "principalType": "User", "access": "read" }';

/** Mistakes against limits, against the code, and on the way to Azure. */
export const otherPlants: readonly Plant[] = [
  // Constraints and names.
  plant(
    main,
    "@description('Address space of the virtual networks, a /16: each region takes a /20.')\n",
    "",
    "description",
    /addressPrefix/,
  ),
  plant(
    main,
    "@minValue(30)\n@maxValue(730)\nparam logRetentionDays",
    "param logRetentionDays",
    "constraint",
    /logRetentionDays/,
  ),
  plant(
    main,
    "@maxLength(10)\nparam environmentName",
    "@maxLength(20)\nparam environmentName",
    "name-length",
    /32/,
  ),
  plant(
    main,
    "var prefix = 'lf${unique}-${environmentName}'",
    "var prefix = '${environmentName}-lf${unique}'",
    "unique-first",
    /host id/,
  ),
  // Parameter files.
  plant(oneRegion, '"northeurope"', '"polandcentral"', "parameter-file", /polandcentral/),
  plant(oneRegion, '[{ "name": "northeurope", "short": "ne" }]', "[]", "parameter-file", /at least 1/),
  plant(twoRegions, '"swedencentral"', '"northeurope"', "parameter-file", /twice/),
  plant(oneRegion, '"value": "dev"', '"value": "development-of-mine"', "parameter-file", /at most 10/),
  plant(
    oneRegion,
    '"value": "dev" },',
    '"value": "dev" },\n"runtimeVersion": { "value": "20" },',
    "parameter-file",
    /20/,
  ),
  plant(
    oneRegion,
    '"value": "dev" },',
    '"value": "dev" },\n"operators": { "value": [{ "principalId": "00000000-0000-0000-0000-00000000000g", "principalType": "Group", "access": "read" }] },',
    "parameter-file",
    /no object id/,
  ),
  plant(
    oneRegion,
    '"value": "dev" },',
    '"value": "dev" },\n"colour": { "value": "red" },',
    "parameter-file",
    /colour/,
  ),
  plant(oneRegion, '"short": "ne"', '"short": "north"', "parameter-file", /at most 4/),
  plant(oneRegion, '"short": "ne"', '"short": "NE"', "parameter-file", /lower-case/),
  plant(twoRegions, '"short": "sc"', '"short": "ne"', "parameter-file", /short "ne" is there twice/),
  ...[
    ['"namespace": { "value": "My_Space" }', /single dashes/],
    ['"runtimeVersion": { "value": 24 }', /24 is no string/],
    ['"maximumInstanceCount": { "value": 1001 }', /at most 1000/],
    ['"keepDays": { "value": -1 }', /at least 0/],
    ['"addressPrefix": { "value": "10.40.0.0/21" }', /room for 0 of 1 regions/],
    ['"addressPrefix": { "value": "10.400.0.0/16" }', /no address space/],
    ['"alertEmail": { "value": "nobody" }', /no mail address/],
    [
      '"zoneRedundant": { "value": true }, "alwaysReady": { "value": [{ "name": "http", "instanceCount": 1 }] }',
      /at least 2/,
    ],
    [
      '"alwaysReady": { "value": [{ "name": "http", "instanceCount": 1 }, { "name": "http", "instanceCount": 2 }] }',
      /name "http" is there twice/,
    ],
    [`"operators": { "value": [${operator}, ${operator}] }`, /principalId .* is there twice/],
  ].map(([parameter, says]) =>
    plant(
      oneRegion,
      '"value": "dev" },',
      `"value": "dev" },\n${parameter},`,
      "parameter-file",
      says as RegExp,
    ),
  ),
  // What is deployed.
  plant(
    app,
    "publicNetworkAccess: 'Enabled'\n    virtual",
    "publicNetworkAccess: publicHttp ? 'Enabled' : 'Disabled'\n    virtual",
    "publish-path",
    /no package can be published/,
  ),
  plant(
    app,
    "scmIpSecurityRestrictionsUseMain: false",
    "scmIpSecurityRestrictionsUseMain: true",
    "publish-path",
    /published/,
  ),
  plant(
    shared,
    "  'ukwest'\n  'westcentralus'\n  'westus'\n]",
    "  'ukwest'\n  'westcentralus'\n]",
    "redundancy",
    /westus: Standard_ZRS/,
  ),
  plant(
    shared,
    "  'italynorth'\n  'spaincentral'\n]",
    "  'italynorth'\n]",
    "redundancy",
    /spaincentral: Standard_GZRS/,
  ),
  plant(
    app,
    "zoneRedundant && !contains(regionsWithoutZones, location) ?",
    "zoneRedundant ?",
    "redundancy",
    /westus: Standard_ZRS/,
  ),
  plant("infra/modules/network.bicep", "    dependsOn: [toFirst]\n", "", "peering-order", /race/),
  plant(
    main,
    "name: 'lf${unique}data'",
    "name: 'lf-${unique}data'",
    "resource-name",
    /storageAccounts cannot be called/,
  ),
  plant(
    main,
    "    prefix: '${prefix}-data'",
    "    prefix: '${prefix}-data-of-this-installation-and-more'",
    "resource-name",
    /privateEndpoints/,
  ),
  plant(
    main,
    "monitoring ? logs!.outputs.connectionString : ''",
    "logs!.outputs.connectionString",
    "deployment",
    /outputs/,
  ),
  // What the code says.
  plant(shared, "  'active'\n", "  'aktive'\n", "drift-containers", /aktive|active/),
  plant(
    "src/functions/registerTriggers.ts",
    '["workerUrgent", names.urgent, true]',
    '["workerUrgent", names.results, true]',
    "drift-queues",
    /results|urgent/,
  ),
  plant(
    shared,
    "LEASEFOLD_THREADS: int?",
    "LEASEFOLD_THREAD_COUNT: int?",
    "drift-settings",
    /LEASEFOLD_THREAD_COUNT/,
  ),
  plant(
    app,
    "      DataStorage__clientId: identity.properties.clientId\n",
    "",
    "drift-settings",
    /DataStorage__clientId/,
  ),
  plant(
    shared,
    "@maxValue(60)\n  LEASEFOLD_LEASE_S",
    "@maxValue(90)\n  LEASEFOLD_LEASE_S",
    "drift-range",
    /90/,
  ),
  plant(
    "local.settings.sample.json",
    '"LEASEFOLD_LOOP_MS": "500"',
    '"LEASEFOLD_LOOP_MS": "5"',
    "drift-sample",
    /refused/,
  ),
  plant("infra/queries/two-holders.kql", '"lease-claimed"', '"lease-claim"', "drift-events", /lease-claim/),
  plant(
    "infra/queries/runs.kql",
    'fields["to"]',
    'fields["too"]',
    "drift-events",
    /no event has a field too/,
  ),
  plant("infra/queries/two-holders.kql", "fields.termid", "fields.termId", "drift-events", /termId/),
  plant(
    "infra/queries/old-messages.kql",
    '("worker", "workerUrgent")',
    '("worker", "urgentWorker")',
    "drift-functions",
    /urgentWorker/,
  ),
  plant(alerts, "queries/poison.kql", "queries/poisoned.kql", "drift-queries", /poison|no template/),
  plant(main, "['22', '24']", "['20', '24']", "drift-version", /Node 20/),
  plant(data, "'${namespace}-results/'", "'${namespace}-active/'", "lifecycle-scope", /active/),
  plant("docs/SETTINGS.md", "| `LEASEFOLD_BUDGET_S` |", "| the budget |", "drift-page", /LEASEFOLD_BUDGET_S/),
  plant("docs/OPERATIONS.md", "## stalled-run", "## stuck-run", "drift-operations", /stalled-run/),
  plant("host.json", '"messageEncoding": "none"', '"messageEncoding": "base64"', "drift-host", /plain JSON/),
  plant(
    "host.json",
    '"functionTimeout": "00:10:00"',
    '"functionTimeout": "00:05:00"',
    "drift-host",
    /PACK_LIMIT/,
  ),
  plant("host.json", '"batchSize": 1', '"batchSize": 99', "drift-host", /batchSize/),
  plant(
    oneRegion,
    '"value": "dev" },',
    '"value": "dev" },\n"instanceMemoryMB": { "value": 512 },',
    "drift-host",
    /2 threads of 512 MB/,
  ),
  plant(
    oneRegion,
    '"value": "dev" },',
    '"value": "dev" },\n"settings": { "value": { "LEASEFOLD_BUDGET_S": 600 } },',
    "drift-host",
    /BUDGET/,
  ),
  plant(
    oneRegion,
    '"value": "dev" },',
    '"value": "dev" },\n"alwaysReady": { "value": [{ "name": "function:wroker", "instanceCount": 1 }] },',
    "drift-functions",
    /wroker/,
  ),
  // The way to Azure.
  plant("azure.yaml", "remoteBuild: false\n", "remoteBuild: true\n", "remote-build", /remoteBuild/),
  plant("azure.yaml", '">= 1.23.13"', '">= 1.23.5"', "azd-version", /at least 1\.23\.13/),
  plant(".funcignore", "\nnode_modules/*\n", "\nnode_modules\n", "remote-build", /node_modules\/\*/),
  plant(".funcignore", "\npackage-lock.json\n", "\npackage\n", "package", /package\.json would be missing/),
  plant("azure.yaml", "  app:\n", "  backend:\n", "azd-service", /backend/),
  plant(".funcignore", "\ntest\n", "\n", "package", /test would be in the package/),
  plant(".funcignore", "\ncalculations\n", "\n", "package", /calculations would be in the package/),
  plant(".funcignore", "\n*.ts\n", "\n", "package", /any\.ts would be in the package/),
  plant(".funcignore", "dist/starter", "dist/calculations", "package", /dist\/calculations would be missing/),
  plant(".funcignore", "dist/*.map", "dist/*", "package", /dist\/index\.cjs would be missing/),
  plant(workflow, "@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1", "@v7", "workflow-pin", /checkout@v7/),
  plant(
    workflow,
    "client-id: ${{ vars.AZURE_CLIENT_ID }}",
    "creds: ${{ secrets.AZURE }}",
    "workflow-secret",
    /federation/,
  ),
  plant(workflow, "permissions: {}\n", "", "workflow-permissions", /permissions/),
  plant(
    workflow,
    "client-id: ${{ vars.AZURE_PREVIEW_CLIENT_ID }}",
    "client-id: ${{ vars.AZURE_CLIENT_ID }}",
    "workflow-identity",
    /would hold the identity that deploys/,
  ),
  plant(
    workflow,
    "environment: preview",
    "environment: production",
    "workflow-identity",
    /run in production/,
  ),
  plant(
    workflow,
    "environment: production",
    "environment: staging",
    "workflow-identity",
    /environment production/,
  ),
];
