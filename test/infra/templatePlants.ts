import { type Plant, plant } from "./plant.ts";

const main = "infra/main.bicep";
const app = "infra/modules/functionApp.bicep";
const data = "infra/modules/dataStorage.bicep";
const roles = "infra/modules/appRoles.bicep";
const shared = "infra/shared.bicep";
const network = "infra/modules/network.bicep";
const alerts = "infra/modules/alerts.bicep";
const operators = "infra/modules/operatorRoles.bicep";
const bootstrap = "infra/bootstrap.bicep";
const host = "hostStorage.properties.primaryEndpoints.blob";

/** Mistakes in what the templates say by themselves. */
export const templatePlants: readonly Plant[] = [
  // The language.
  plant(data, "  kind: 'StorageV2'", "  kind 'StorageV2'", "syntax", /no Bicep|missing/),
  plant(
    main,
    "location: location\n    tags: allTags\n    sku",
    "location: lokation\n    tags: allTags\n    sku",
    "unknown-name",
    /lokation/,
  ),
  plant(
    main,
    "uniqueString(resourceGroup().id",
    "uniqString(resourceGroup().id",
    "unknown-function",
    /uniqString/,
  ),
  plant(main, "@maxLength(10)", "@maximumLength(10)", "unknown-decorator", /maximumLength/),
  plant(
    data,
    "param lock bool",
    "@description('x')\nparam spare string\n\n@description('y')\nparam lock bool",
    "unused",
    /spare/,
  ),
  plant(
    main,
    "var location = regions[0].name",
    "var location = regions[0].name\nvar location2 = location",
    "unused",
    /location2/,
  ),
  plant(main, "var location =", "var prefix = 'a'\nvar location =", "duplicate-name", /prefix/),
  plant(
    roles,
    "containerSuffixes, queueSuffixes, roles }",
    "containerSuffixes, queueSuffixs, roles }",
    "unknown-name",
    /queueSuffixs/,
  ),
  plant(network, "from '../shared.bicep'", "from '../share.bicep'", "unknown-file", /share\.bicep/),
  // Modules.
  plant("infra/modules/thirteenth.bicep", "", "// One more.\n", "module-count", /at most 12/),
  plant("infra/modules/thirteenth.bicep", "", "// One more.\n", "module-file", /no template uses/),
  plant(main, "    lock: lock\n", "", "module-parameter", /does not pass lock/),
  plant(
    main,
    "    lock: lock\n",
    "    lock: lock\n    locked: lock\n",
    "module-parameter",
    /no parameter locked/,
  ),
  plant(main, "data.outputs.blobServiceUri", "data.outputs.blobUri", "module-output", /no output blobUri/),
  plant(main, "'modules/network.bicep'", "'modules/vnet.bicep'", "module-file", /vnet/),
  plant(
    main,
    "'modules/network.bicep'",
    "'br/public:avm/res/network/virtual-network:0.5.0'",
    "registry-module",
    /network/,
  ),
  // Types of the platform.
  plant(
    data,
    "allowSharedKeyAccess: false",
    "allowSharedKeyAcces: false",
    "resource-property",
    /is allowSharedKeyAccess meant/,
  ),
  plant(data, "bypass: 'AzureServices'", "bypas: 'AzureServices'", "resource-property", /networkAcls\.bypas/),
  plant(
    data,
    "      defaultAction: privateNetwork ? 'Deny' : 'Allow'\n",
    "",
    "resource-required",
    /defaultAction/,
  ),
  plant(data, "kind: 'StorageV2'", "kind: 'StorageV3'", "resource-value", /StorageV3/),
  plant(data, "days: 7", "days: '7'", "resource-value", /days/),
  plant(app, "type: 'UserAssignedIdentity'", "type: 'UserAssigned'", "resource-value", /UserAssigned/),
  plant(
    data,
    "storageAccounts@2025-01-01' = {",
    "storageAccounts@2021-02-01' = {",
    "resource-type",
    /2021-02-01/,
  ),
  plant(
    network,
    "addressPrefixes: [ranges[i]]",
    "addressPrefixes: 'all'",
    "resource-value",
    /addressPrefixes/,
  ),
  plant(
    data,
    "['Standard_LRS', 'Standard_GRS'",
    "['Standard_LRS', 'Standard_ZoneRS'",
    "resource-value",
    /Standard_ZoneRS/,
  ),
  plant(alerts, "operator: 'GreaterThan'", "operator: 'Greater'", "resource-value", /Greater/),
  plant(
    "infra/schemas.extra.json",
    '"Microsoft.Authorization/locks":',
    '"Microsoft.Authorization/lock":',
    "allow-list",
    /locks@/,
  ),
  // Security.
  plant(
    data,
    "output id string = account.id",
    "output id string = account.listKeys().keys[0].value",
    "secret",
    /listKeys/,
  ),
  plant(
    app,
    "DataStorage__blobServiceUri: blobServiceUri",
    "DataStorage__blobServiceUri: 'AccountKey=abc'",
    "secret",
    /key/,
  ),
  plant(app, `'\${${host}}`, "'https://x.blob.core.windows.net/", "endpoint", /core\.windows\.net/),
  plant(
    data,
    "allowBlobPublicAccess: false",
    "allowBlobPublicAccess: true",
    "hardening",
    /allowBlobPublicAccess/,
  ),
  plant(data, "publicAccess: 'None'", "publicAccess: 'Blob'", "hardening", /publicAccess/),
  plant(data, "bypass: 'AzureServices'", "bypass: 'None'", "hardening", /networkAcls\.bypass must be/),
  plant(data, "    minimumTlsVersion: 'TLS1_2'\n", "", "hardening", /minimumTlsVersion/),
  plant(app, "httpsOnly: true", "httpsOnly: false", "hardening", /httpsOnly/),
  plant(
    data,
    "deleteRetentionPolicy: {\n      enabled: true",
    "deleteRetentionPolicy: {\n      enabled: false",
    "hardening",
    /deleteRetentionPolicy/,
  ),
  plant(data, "isVersioningEnabled: false", "isVersioningEnabled: true", "hardening", /isVersioningEnabled/),
  plant(
    "infra/modules/monitoring.bicep",
    "DisableLocalAuth: true",
    "DisableLocalAuth: false",
    "hardening",
    /DisableLocalAuth/,
  ),
  plant(
    app,
    "LEASEFOLD_NAMESPACE: namespace",
    "LEASEFOLD_NAMESPACE: namespace\n      DataStorage: blobServiceUri",
    "secret",
    /win over the identity/,
  ),
  plant(
    shared,
    "ba92f5b4-2d11-453d-a403-e96b0029c9fe",
    "ba92f5b4-2d11-453d-a403-e96b0029c9ff",
    "role-id",
    /Contributor has the id/,
  ),
  plant(
    roles,
    "roles['Monitoring Metrics Publisher'])\n  scope",
    "roles['Monitoring Publisher'])\n  scope",
    "role-name",
    /Monitoring Publisher/,
  ),
  plant(roles, "    principalType: 'ServicePrincipal'\n", "", "principal-type", /hostRole/),
  // Rights.
  plant(
    shared,
    "inputs: 'Storage Blob Data Reader'",
    "inputs: 'Storage Blob Data Contributor'",
    "least-rights",
    /inputs: an app needs Storage Blob Data Reader/,
  ),
  plant(
    roles,
    "        roles[appContainerRoles[suffix]]\n",
    "        roles['Storage Blob Data Contributor']\n",
    "least-rights",
    /containerRoles: take the role/,
  ),
  plant(shared, "  runs: '*/spec.json'", "  runs: '*'", "least-rights", /runs: \*/),
  plant(shared, "  inputs: '*'", "  inputs: '*'\n  results: '*'", "least-rights", /results: \*/),
  plant(
    shared,
    "var steerQueues = [\n",
    "var steerQueues = [\n  'packs'\n",
    "least-rights",
    /packs.: no command sends/,
  ),
  plant(
    operators,
    "      conditionVersion: '2.0'\n      condition:",
    "      delegatedManagedIdentityResourceId:",
    "least-rights",
    /steerRuns/,
  ),
  plant(
    shared,
    "var steerCreates = [\n  'runs'\n",
    "var steerCreates = [\n",
    "least-rights",
    /runs: steering only creates/,
  ),
  plant(
    operators,
    "contains(steerCreates, one.key) ? '(${writes}) AND ' : ''",
    "''",
    "least-rights",
    /steerRuns/,
  ),
  plant(bootstrap, "'Microsoft.Web/sites/read'", "'*/read'", "preview-rights", /more than a preview needs/),
  plant(
    bootstrap,
    "'Microsoft.Web/sites/read'",
    "'Microsoft.Web/sites/*/read'",
    "preview-rights",
    /more than a preview needs/,
  ),
  plant(
    bootstrap,
    "          'Microsoft.Resources/deployments/read'\n",
    "          'Microsoft.Resources/deployments/read'\n          'Microsoft.Web/sites/hostruntime/host/_master/read'\n",
    "preview-rights",
    /more than a preview needs/,
  ),
  plant(
    bootstrap,
    "          'Microsoft.Web/serverfarms/read'\n",
    "",
    "preview-rights",
    /a preview needs Microsoft.Web.serverfarms/,
  ),
  plant(
    bootstrap,
    "roleDefinitionId: previewRole.id",
    "roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', deployerRoles.Contributor)",
    "preview-rights",
    /the identity of pull requests/,
  ),
  plant(
    bootstrap,
    "string[] = [\n  'production'",
    "string[] = [\n  'preview'\n  'production'",
    "preview-rights",
    /cannot be one that deploys/,
  ),
];
