import { type Plant, plant } from "./plant.ts";

const main = "infra/main.bicep";
const app = "infra/modules/functionApp.bicep";
const workers = "infra/modules/containerWorkers.bicep";
const roles = "infra/modules/appRoles.bicep";
const data = "infra/modules/dataStorage.bicep";
const network = "infra/modules/network.bicep";
const endpoints = "infra/modules/privateEndpoints.bicep";
const alerts = "infra/modules/alerts.bicep";
const logs = "infra/modules/monitoring.bicep";
const bootstrap = "infra/bootstrap.bicep";
const oneRegion = "infra/one-region.parameters.json";
const given = (parameter: string): [string, string, string] => [
  oneRegion,
  '"parameters": {\n',
  `"parameters": {\n${parameter},\n`,
];

/** Mistakes that the published types allow and that Azure has refused. */
export const refusalPlants: readonly Plant[] = [
  plant(
    app,
    "      http20Enabled: true\n",
    "      http20Enabled: true\n      ftpsState: 'Disabled'\n",
    "refused-site-config",
    /ftpsState.*51021.*azure-cli\/issues\/31414/,
  ),
  plant(
    app,
    "    httpsOnly: true\n",
    "    httpsOnly: true\n    functionsRuntimeAdminIsolationEnabled: true\n",
    "refused-admin-isolation",
    /end a publish by asking \/admin.*403.*azure-functions-host\/issues\/10422/,
  ),
  plant(
    app,
    "      LEASEFOLD_NAMESPACE: namespace\n",
    "      LEASEFOLD_NAMESPACE: namespace\n      FUNCTIONS_WORKER_RUNTIME: 'node'\n",
    "refused-app-setting",
    /FUNCTIONS_WORKER_RUNTIME/,
  ),
  plant(
    app,
    "      runtime: { name: 'node', version: runtimeVersion }\n",
    "",
    "refused-flex-config",
    /needs runtime/,
  ),
  plant(...given('"instanceMemoryMB": { "value": 1024 }'), "refused-instance-size", /1024 MB/),
  plant(...given('"maximumInstanceCount": { "value": 10 }'), "refused-instance-count", /at most 10/),
  plant(...given('"runtimeVersion": { "value": "24.0" }'), "refused-runtime", /node 24\.0/),
  plant(
    workers,
    "memory: '${cores * 2}Gi'",
    "memory: '${cores}Gi'",
    "refused-container-size",
    /2 cores with 2Gi.*ContainerAppInvalidResourceTotal/,
  ),
  plant(app, "zoneRedundant: overZones", "zoneRedundant: zoneRedundant", "refused-zones", /westus/),
  plant("docs/DEPLOY.md", "`Microsoft.App`", "", "refused-registration", /Microsoft\.App/),
  plant(
    "docs/DEPLOY.md",
    "## Once per subscription\n",
    "## Five commands\n",
    "refused-registration",
    /before "Five commands".*Microsoft\.App/,
  ),
  plant(
    bootstrap,
    "subject: '${subject}:environment:${environment}'",
    "subject: 'repo:${repository}:environment:${environment}'",
    "refused-subject",
    /repo:owner\/name:environment:production.*AADSTS700213/,
  ),
  plant(
    bootstrap,
    "subject: '${subject}:environment:${environment}'",
    "subject: '${subject}:ref:refs/heads/main'",
    "refused-subject",
    /refs\/heads\/main/,
  ),
  plant(
    bootstrap,
    "  parent: previewer\n  name: 'github-${previewEnvironment}'\n  properties: {\n    issuer: 'https://token.actions.githubusercontent.com'\n    subject: '${subject}:environment:${previewEnvironment}'\n",
    "  parent: deployer\n  name: 'github-${previewEnvironment}'\n  properties: {\n    issuer: 'https://token.actions.githubusercontent.com'\n    subject: '${subject}:environment:production'\n",
    "refused-subject-twice",
    /github-preview has the subject/,
  ),
  plant(
    roles,
    "guid(containers[i].id, principalId, roles",
    "guid(containers[i].id, componentName, roles",
    "refused-role-change",
    /lacks its principal/,
  ),
  plant(roles, "scope: poisonQueues[i]", "scope: queues[i]", "refused-role-twice", /one assignment/),
  plant(
    data,
    "Policies@2025-01-01' = if (keepDays > 0) {\n  parent: account\n  name: 'default'",
    "Policies@2025-01-01' = if (keepDays > 0) {\n  parent: account\n  name: 'backstop'",
    "refused-policy-name",
    /not backstop/,
  ),
  plant(data, "            filters: {", "            filter: {", "refused-policy-filter", /needs filters/),
  plant(
    network,
    "addressPrefixes: [ranges[i]]\n      }\n",
    "addressPrefixes: [ranges[i]]\n      }\n      subnets: []\n",
    "refused-subnet-list",
    /deletes any other/,
  ),
  plant(network, "name: 'apps'", "name: 'flex_apps'", "refused-subnet", /flex_apps/),
  plant(
    network,
    "'Microsoft.App/environments'",
    "'Microsoft.Web/serverFarms'",
    "refused-subnet",
    /apps must/,
  ),
  plant(
    alerts,
    "every: 'PT15M'\n    window: 'PT1H'",
    "every: 'PT20M'\n    window: 'PT1H'",
    "refused-alert-window",
    /PT20M/,
  ),
  plant(
    alerts,
    "      autoMitigate: true\n",
    "      autoMitigate: true\n      muteActionsDuration: 'PT1H'\n",
    "refused-alert-mute",
    /cannot be muted/,
  ),
  plant(
    alerts,
    "minFailingPeriodsToAlert: 1",
    "minFailingPeriodsToAlert: 0",
    "refused-alert-mute",
    /begin with 1/,
  ),
  plant(...given('"logDailyCapGb": { "value": 0 }'), "refused-log-cap", /0 GB/),
  plant(
    logs,
    "groupShortName: 'leasefold'",
    "groupShortName: 'leasefold-alerts'",
    "refused-short-name",
    /12/,
  ),
  plant(bootstrap, "@batchSize(1)\n", "", "refused-credential-race", /credentials needs @batchSize/),
  plant(endpoints, "@batchSize(1)\n", "", "refused-endpoint-race", /endpoints needs @batchSize/),
  plant(main, "param logDailyCapGb int = 1", "param logDailyCapGb int = 0", "refused-log-cap", /0 GB/),
];
