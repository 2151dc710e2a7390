// Leasefold on Azure Functions: from an empty resource group to a running, watched app without a key, in one region or
// several. Plain resources only, no registry modules: so the compiler needs no network.
//
//   az deployment group create -g GROUP --parameters infra/main.bicepparam

targetScope = 'resourceGroup'

import {
  alertSwitches
  alwaysReadyGroup
  leasefoldSettings
  operator
  region
  regionsWithoutGeoZones
  regionsWithoutZones
  secretAddresses
} from 'shared.bicep'

@description('Name of this installation, part of every name; with azd the name of its environment.')
@minLength(2)
@maxLength(10)
param environmentName string

@description('Where apps run, one each. The first also holds data and logs. All race for one lease.')
@minLength(1)
@maxLength(8)
param regions region[]

@description('Prefix of every container and queue.')
@minLength(1)
@maxLength(40)
param namespace string = 'leasefold'

@description('Replication of the data account. Where its region has no zones, or none in its pair, the nearest that it has: see dataSkuUsed.')
@allowed(['Standard_LRS', 'Standard_ZRS', 'Standard_GZRS', 'Standard_RAGZRS'])
param dataSku string = 'Standard_ZRS'

@description('Node version of the apps; the bundle needs 22 or newer.')
@allowed(['22', '24'])
param runtimeVersion string = '24'

@description('Memory of one instance, MB; processor time comes in proportion. 512 needs a smaller LEASEFOLD_THREAD_MEMORY_MB.')
@allowed([512, 2048, 4096])
param instanceMemoryMB int = 2048

@description('The most instances of one app. Workers of all regions take from the same queues.')
@minValue(1)
@maxValue(1000)
param maximumInstanceCount int = 40

@description('Instances that stay while there is nothing to do, per function (function:worker) or group (http).')
param alwaysReady alwaysReadyGroup[] = []

@description('Whether each app spreads over zones. The platform then keeps two instances of every function always ready, which costs far more than all else.')
param zoneRedundant bool = false

@description('What a deployment does to instances that work. Recreate ends them: a leader dies with its lease, and the next timer tick or wake leads. RollingUpdate lets them finish, with old and new code side by side; it is a preview that Microsoft does not recommend for production.')
@allowed(['Recreate', 'RollingUpdate'])
param siteUpdateStrategy string = 'Recreate'

@description('After so many days a finished run is deleted; 0 keeps runs for ever.')
@minValue(0)
@maxValue(36500)
param keepDays int = 30

@description('Image of workers in containers beside the apps: Dockerfile makes it. Empty for none.')
@maxLength(255)
param workerImage string = ''

@description('Server of the registry that the workers\' identity pulls the image from, with a role that you assign there; empty for a public one.')
@maxLength(255)
param workerRegistry string = ''

@description('The most workers in containers; they come and go with the packs that wait.')
@minValue(1)
@maxValue(1000)
param workerReplicas int = 20

@description('Cores of one worker, each with 2 GB and a thread.')
@allowed([1, 2, 4])
param workerCores int = 2

@description('Machines of the workers: Consumption by the second, or a dedicated or GPU profile of Container Apps.')
@allowed([
  'Consumption'
  'D4'
  'D8'
  'D16'
  'D32'
  'E4'
  'E8'
  'E16'
  'E32'
  'NC24-A100'
  'Consumption-GPU-NC8as-T4'
  'Consumption-GPU-NC24-A100'
])
param workerProfile string = 'Consumption'

@description('Further settings of the app, by their names.')
param settings leasefoldSettings = {}

@description('Secrets of a Key Vault for calculations, by the names of environment variables: the address of each. The setting LEASEFOLD_ENV names those that they find. The identities of apps and workers need Key Vault Secrets User there.')
param keyVaultReferences secretAddresses = {}

@description('Whether the HTTP API answers to the internet; every route but health also asks for a function key. Packages are published from outside either way, with a sign-in.')
param publicHttp bool = true

@description('Whether the HTTP API gives out links that read one result without a key for 15 minutes. Apps and operators may then sign them.')
param resultLinks bool = false

@description('Whether storage is reached over virtual networks and private endpoints only.')
param privateNetwork bool = false

@description('Address space of the virtual networks, a /16: each region takes a /20.')
@minLength(9)
@maxLength(18)
param addressPrefix string = '10.40.0.0/16'

@description('Who may read runs or steer them with the command line, without being the app.')
@maxLength(20)
param operators operator[] = []

@description('Whether there are logs, alerts and a workbook.')
param monitoring bool = true

@description('How many days logs stay.')
@minValue(30)
@maxValue(730)
param logRetentionDays int = 30

@description('Most that the logs take in per day, GB; -1 for no cap.')
@minValue(-1)
@maxValue(4000)
param logDailyCapGb int = 1

@description('Whether writes and deletes of the data account are logged too. Each costs a log row, so large runs cost more.')
param logStorage bool = false

@description('Where alerts are mailed to; empty for nowhere.')
@maxLength(254)
param alertEmail string = ''

@description('Which alerts are off: { poison: false }. Those not named are on.')
param alerts alertSwitches = {}

@description('Queue of the data account into which Event Grid puts an event for each run that ends (docs/OPERATIONS.md); empty for none.')
@maxLength(63)
param endedEventsQueue string = ''

@description('Address of docs/OPERATIONS.md for somebody on call, such as https://github.com/OWNER/NAME/blob/main/docs/OPERATIONS.md; alerts link to their section there.')
@maxLength(500)
param runbook string = ''

@description('Whether the data account is locked against deletion.')
param lock bool = false

@description('Tags of every resource.')
param tags object = {}

@description('Whether a text has lower-case letters and digits only, as parts of names do.')
func isPlain(text string) bool =>
  empty(filter(
    map(range(0, length(text)), i => substring(text, i, 1)),
    one => !contains('abcdefghijklmnopqrstuvwxyz0123456789', one)
  ))

// What no constraint can say of parameters, and what Azure would refuse, or tell only when half is deployed.
var schedule = settings.?LEASEFOLD_SCHEDULE ?? '0 * * * * *'
var problems = filter(
  [
    isPlain(environmentName) ? '' : 'environmentName becomes part of names: use lower-case letters and digits.'
    isPlain(join(map(regions, one => one.short), '')) ? '' : 'regions: use lower-case letters and digits in short.'
    isPlain(replace(namespace, '-', '')) && !contains(namespace, '--')
      ? ''
      : 'namespace: use lower-case letters, digits and single dashes.'
    length(union(map(regions, one => one.name), [])) == length(regions) ? '' : 'regions: a name is there twice.'
    length(union(map(regions, one => one.short), [])) == length(regions) ? '' : 'regions: a short name is there twice.'
    zoneRedundant && !empty(filter(alwaysReady, one => one.instanceCount < 2))
      ? 'alwaysReady: over zones at least 2 of each.'
      : ''
    // Some hosts on Flex do not start with five fields (github.com/Azure/azure-functions-host/issues/11555).
    length(filter(split(schedule, ' '), one => !empty(one))) == 6
      ? ''
      : 'LEASEFOLD_SCHEDULE: six fields, the first for seconds, such as 0 * * * * *.'
  ],
  one => !empty(one)
)

var allTags = union(tags, { 'azd-env-name': environmentName })
var location = regions[0].name

// Each redundancy that a region lacks has one that it offers: geo-redundant without zones, or zones without a pair.
var withoutZones = {
  Standard_LRS: 'Standard_LRS'
  Standard_ZRS: 'Standard_LRS'
  Standard_GZRS: 'Standard_GRS'
  Standard_RAGZRS: 'Standard_RAGRS'
}
var withoutGeoZones = union(withoutZones, {
  Standard_ZRS: 'Standard_ZRS'
  Standard_GZRS: 'Standard_ZRS'
  Standard_RAGZRS: 'Standard_ZRS'
})
var hasZones = !contains(regionsWithoutZones, location)
var hasGeoZones = hasZones && !contains(regionsWithoutGeoZones, location)
var sku = hasGeoZones ? dataSku : (hasZones ? withoutGeoZones[dataSku] : withoutZones[dataSku])

var unique = uniqueString(resourceGroup().id, environmentName)
var prefix = empty(problems) ? 'lf${unique}-${environmentName}' : fail(join(problems, ' '))

module logs 'modules/monitoring.bicep' = if (monitoring) {
  name: 'logs'
  params: {
    prefix: prefix
    location: location
    tags: allTags
    retentionDays: logRetentionDays
    dailyCapGb: logDailyCapGb
    alertEmail: alertEmail
  }
}

module watch 'modules/alerts.bicep' = if (monitoring) {
  name: 'watch'
  params: {
    prefix: prefix
    location: location
    tags: allTags
    workspaceId: logs!.outputs.workspaceId
    actionGroupId: logs!.outputs.actionGroupId
    dailyCapGb: logDailyCapGb
    switches: alerts
    runbook: runbook
  }
}

module network 'modules/network.bicep' = if (privateNetwork) {
  name: 'network'
  params: {
    prefix: prefix
    regions: regions
    addressPrefix: addressPrefix
    withWorkers: !empty(workerImage)
    tags: allTags
  }
}

module data 'modules/dataStorage.bicep' = {
  name: 'data'
  params: {
    name: 'lf${unique}data'
    location: location
    tags: allTags
    sku: sku
    namespace: namespace
    endedQueue: settings.?LEASEFOLD_ENDED_QUEUE ?? ''
    keepDays: keepDays
    privateNetwork: privateNetwork
    workspaceId: monitoring && logStorage ? logs!.outputs.workspaceId : ''
    lock: lock
  }
}

module endedEvents 'modules/endedEvents.bicep' = if (!empty(endedEventsQueue)) {
  name: 'ended-events'
  params: {
    prefix: prefix
    location: location
    tags: allTags
    accountName: data.outputs.name
    namespace: namespace
    queueName: endedEventsQueue
  }
}

module dataEndpoints 'modules/privateEndpoints.bicep' = if (privateNetwork) {
  name: 'data-endpoints'
  params: {
    prefix: '${prefix}-data'
    location: location
    tags: allTags
    subnetId: network!.outputs.endpointSubnetIds[0]
    storageAccountId: data.outputs.id
    services: [
      { group: 'blob', zoneId: network!.outputs.blobZoneId }
      { group: 'queue', zoneId: network!.outputs.queueZoneId }
    ]
  }
}

module hosts 'modules/appHost.bicep' = [
  for one in regions: {
    name: 'host-${one.short}'
    params: {
      name: '${prefix}-${one.short}'
      storageName: 'lf${unique}h${one.short}'
      location: one.name
      tags: allTags
      zoneRedundant: zoneRedundant
      privateNetwork: privateNetwork
    }
  }
]

module appRoles 'modules/appRoles.bicep' = [
  for (one, i) in regions: {
    name: 'roles-${one.short}'
    params: {
      principalId: hosts[i].outputs.principalId
      accountName: data.outputs.name
      namespace: namespace
      endedQueue: settings.?LEASEFOLD_ENDED_QUEUE ?? ''
      hostStorageName: hosts[i].outputs.storageName
      componentName: monitoring ? logs!.outputs.componentName : ''
      resultLinks: resultLinks
    }
  }
]

module apps 'modules/functionApp.bicep' = [
  for (one, i) in regions: {
    name: 'app-${one.short}'
    params: {
      name: '${prefix}-${one.short}'
      identityId: hosts[i].outputs.identityId
      clientId: hosts[i].outputs.clientId
      hostBlobServiceUri: hosts[i].outputs.blobServiceUri
      packageUri: hosts[i].outputs.packageUri
      location: one.name
      tags: allTags
      serviceName: i == 0 ? 'app' : 'app${i + 1}'
      runtimeVersion: runtimeVersion
      instanceMemoryMB: instanceMemoryMB
      maximumInstanceCount: maximumInstanceCount
      alwaysReady: alwaysReady
      zoneRedundant: zoneRedundant
      siteUpdateStrategy: siteUpdateStrategy
      publicHttp: publicHttp
      subnetId: privateNetwork ? network!.outputs.appSubnetIds[i] : ''
      namespace: namespace
      keepDays: keepDays
      resultLinks: resultLinks
      settings: settings
      keyVaultReferences: keyVaultReferences
      blobServiceUri: data.outputs.blobServiceUri
      queueServiceUri: data.outputs.queueServiceUri
      monitoring: monitoring
      telemetryConnection: monitoring ? logs!.outputs.connectionString : ''
    }
    // Roles take minutes to arrive, and without them the first publish is refused with 403: they are on their way while the site is
    // made (github.com/Azure/azure-dev/issues/8026).
    dependsOn: [appRoles]
  }
]

module workers 'modules/containerWorkers.bicep' = if (!empty(workerImage)) {
  name: 'workers'
  params: {
    prefix: prefix
    location: location
    tags: allTags
    image: workerImage
    registry: workerRegistry
    replicas: workerReplicas
    cores: workerCores
    profile: workerProfile
    subnetId: privateNetwork ? network!.outputs.workerSubnetId : ''
    accountName: data.outputs.name
    namespace: namespace
    settings: settings
    keyVaultReferences: keyVaultReferences
    blobServiceUri: data.outputs.blobServiceUri
    queueServiceUri: data.outputs.queueServiceUri
    workspaceId: monitoring ? logs!.outputs.workspaceId : ''
  }
}

module workerRoles 'modules/appRoles.bicep' = if (!empty(workerImage)) {
  name: 'roles-workers'
  params: {
    principalId: workers!.outputs.principalId
    accountName: data.outputs.name
    namespace: namespace
    endedQueue: settings.?LEASEFOLD_ENDED_QUEUE ?? ''
    hostStorageName: ''
    componentName: ''
    // They answer no requests.
    resultLinks: false
  }
}

module hostEndpoints 'modules/privateEndpoints.bicep' = [
  for (one, i) in regions: if (privateNetwork) {
    // One subnet takes one endpoint after the other.
    dependsOn: [dataEndpoints]
    name: 'host-endpoints-${one.short}'
    params: {
      prefix: '${prefix}-${one.short}'
      location: one.name
      tags: allTags
      subnetId: network!.outputs.endpointSubnetIds[i]
      storageAccountId: hosts[i].outputs.storageId
      services: [
        { group: 'blob', zoneId: network!.outputs.blobZoneId }
      ]
    }
  }
]

module operatorRoles 'modules/operatorRoles.bicep' = [
  for (who, i) in operators: {
    name: 'operator-${i}'
    params: {
      who: who
      accountName: data.outputs.name
      namespace: namespace
      resultLinks: resultLinks
    }
  }
]

@description('Names of the apps, in the order of the regions: where the package is published to.')
output appNames string[] = [for (one, i) in regions: apps[i].outputs.name]

@description('Host names of the apps\' HTTP API, in the same order.')
output hostNames string[] = [for (one, i) in regions: apps[i].outputs.hostName]

@description('Replication that the data account has: dataSku, or what its region offers instead.')
output dataSkuUsed string = sku

@description('The data account: leasefold --account takes this name.')
output dataAccount string = data.outputs.name
