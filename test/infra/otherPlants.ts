import { type Plant, plant } from "./plant.ts";

const main = "infra/main.bicep";
const app = "infra/modules/functionApp.bicep";
const data = "infra/modules/dataStorage.bicep";
const shared = "infra/shared.bicep";
const alerts = "infra/modules/alerts.bicep";
const oneRegion = "infra/one-region.parameters.json";
const twoRegions = "infra/two-regions.parameters.json";

const operator =
  '{ "principalId": "00000000-0000-0000-0000-000000000001", "principalType": "User", "access": "read" }';

/** Mistakes against limits and against the code. */
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
    "@maxLength(50)\nparam environmentName",
    "name-length",
    /60/,
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
  // What the code says.
  plant(shared, "  'active'\n", "  'aktive'\n", "drift-containers", /aktive|active/),
  plant(
    "src/app/functions/registerTriggers.ts",
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
    "infra/queries/no-tick.kql",
    'OperationName == "coordinator"',
    'OperationName == "coordinater"',
    "drift-functions",
    /coordinater/,
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
  plant(app, "'00:30:00'", "'00:20:00'", "drift-host", /BUDGET/),
  plant("host.json", '"Exception;Trace"', '"Request;Exception;Trace"', "drift-host", /sample requests/),
  plant("host.json", '"Exception;Trace"', '"Exception"', "drift-host", /excludedTypes needs Trace/),
  plant(
    "host.json",
    '"maxSamplingPercentage": 5',
    '"maxSamplingPercentage": 100',
    "drift-host",
    /sample requests/,
  ),
  plant("host.json", '      "Host.Startup": "Warning",\n', "", "drift-host", /Host\.Startup must be Warning/),
  plant(
    "host.json",
    '      "Function.worker": "Warning",\n',
    "",
    "drift-host",
    /Function\.worker must be Warning/,
  ),
  plant(
    "host.json",
    '      "Function.workerUrgent.User": "Information",\n',
    "",
    "drift-host",
    /workerUrgent\.User/,
  ),
  plant(
    "infra/queries/poison.kql",
    "| summarize messages",
    "| summarise messages",
    "query",
    /operator expected/,
  ),
  plant("infra/queries/poison.kql", "parse_json(Message)", "parse_json(Mesage)", "query", /Mesage/),
  plant("infra/queries/host-errors.kql", "type = OuterType", "type = Outertype", "query", /Outertype/),
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
    '"value": "dev" },\n"settings": { "value": { "LEASEFOLD_BUDGET_S": 1800 } },',
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
];
