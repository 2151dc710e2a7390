// One app in one region: identity, host storage, plan, site. Nothing of the data lives here; the app can be deleted and
// made again at any time.

import { alwaysReadyGroup, flexRegion, leasefoldSettings, regionsWithoutZones } from '../shared.bicep'

@description('Name of the app.')
@minLength(2)
@maxLength(60)
param name string

@description('Name of the host storage account.')
@minLength(3)
@maxLength(24)
param hostStorageName string

@description('Region.')
param location flexRegion

@description('Tags of every resource.')
param tags object

@description('Name of the service in azure.yaml that azd publishes to this app.')
@minLength(1)
param serviceName string

@description('Node version.')
@allowed(['22', '24'])
param runtimeVersion string

@description('Memory of one instance, MB; processor time comes in proportion. 512 needs a smaller LEASEFOLD_THREAD_MEMORY_MB.')
@allowed([512, 2048, 4096])
param instanceMemoryMB int

@description('The most instances that the platform adds.')
@minValue(1)
@maxValue(1000)
param maximumInstanceCount int

@description('Instances that stay while there is nothing to do.')
param alwaysReady alwaysReadyGroup[]

@description('Whether the plan and host storage spread over zones.')
param zoneRedundant bool

@description('What a deployment does to instances that work: Recreate ends them at once, RollingUpdate lets them finish.')
@allowed(['Recreate', 'RollingUpdate'])
param siteUpdateStrategy string

@description('Whether the HTTP API takes requests from the internet. Publishing, with a sign-in, works either way.')
param publicHttp bool

@description('Subnet that the app goes out through; empty for none. Host storage then answers on private endpoints only.')
param subnetId string

@description('Prefix of every container and queue.')
@minLength(1)
@maxLength(40)
param namespace string

@description('After so many days a finished run is deleted.')
param keepDays int

@description('Whether the HTTP API gives out links to results.')
param resultLinks bool

@description('Further settings, by their names.')
param settings leasefoldSettings

@description('Blob service of the data account.')
param blobServiceUri string

@description('Queue service of the data account.')
param queueServiceUri string

@description('Connection string of Application Insights, which holds no secret; empty for none.')
param telemetryConnection string

var privateNetwork = !empty(subnetId)
var packageContainer = 'package'
var overZones = zoneRedundant && !contains(regionsWithoutZones, location)

resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: '${name}-id'
  location: location
  tags: tags
}

resource hostStorage 'Microsoft.Storage/storageAccounts@2025-01-01' = {
  name: hostStorageName
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: { name: overZones ? 'Standard_ZRS' : 'Standard_LRS' }
  properties: {
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    isLocalUserEnabled: false
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: privateNetwork ? 'Disabled' : 'Enabled'
    networkAcls: {
      bypass: 'None'
      defaultAction: privateNetwork ? 'Deny' : 'Allow'
    }
  }
}

resource hostBlobs 'Microsoft.Storage/storageAccounts/blobServices@2025-01-01' = {
  parent: hostStorage
  name: 'default'
}

resource packages 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' = {
  parent: hostBlobs
  name: packageContainer
  properties: {
    publicAccess: 'None'
  }
}

resource plan 'Microsoft.Web/serverfarms@2024-11-01' = {
  name: '${name}-plan'
  location: location
  tags: tags
  kind: 'functionapp'
  sku: { name: 'FC1', tier: 'FlexConsumption' }
  properties: {
    reserved: true
    zoneRedundant: overZones
  }
}

resource site 'Microsoft.Web/sites@2024-11-01' = {
  name: name
  location: location
  tags: union(tags, { 'azd-service-name': serviceName })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identity.id}': {}
    }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    // Closed here, the site that packages are published to would be closed as well: so the API is closed by its own rule.
    publicNetworkAccess: 'Enabled'
    virtualNetworkSubnetId: privateNetwork ? subnetId : null
    // Flex takes some of these properties only, and refuses a site with any other (rule refused-site-config).
    siteConfig: {
      minTlsVersion: '1.2'
      scmMinTlsVersion: '1.2'
      http20Enabled: true
      remoteDebuggingEnabled: false
      ipSecurityRestrictionsDefaultAction: publicHttp ? 'Allow' : 'Deny'
      scmIpSecurityRestrictionsDefaultAction: 'Allow'
      scmIpSecurityRestrictionsUseMain: false
    }
    functionAppConfig: {
      deployment: {
        storage: {
          type: 'blobContainer'
          value: '${hostStorage.properties.primaryEndpoints.blob}${packageContainer}'
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identity.id
          }
        }
      }
      runtime: { name: 'node', version: runtimeVersion }
      scaleAndConcurrency: {
        instanceMemoryMB: instanceMemoryMB
        maximumInstanceCount: maximumInstanceCount
        alwaysReady: alwaysReady
      }
      siteUpdateStrategy: { type: siteUpdateStrategy }
    }
  }
  dependsOn: [packages]
}

// The whole set: whatever is not here is gone after a deployment. Flex takes runtime and package from functionAppConfig,
// so no FUNCTIONS_ and no WEBSITE_ setting belongs here.
resource appSettings 'Microsoft.Web/sites/config@2024-11-01' = {
  parent: site
  name: 'appsettings'
  properties: union(
    {
      AzureWebJobsStorage__credential: 'managedidentity'
      AzureWebJobsStorage__clientId: identity.properties.clientId
      AzureWebJobsStorage__blobServiceUri: hostStorage.properties.primaryEndpoints.blob
      DataStorage__credential: 'managedidentity'
      DataStorage__clientId: identity.properties.clientId
      DataStorage__blobServiceUri: blobServiceUri
      DataStorage__queueServiceUri: queueServiceUri
      LEASEFOLD_NAMESPACE: namespace
      LEASEFOLD_REGION: location
      LEASEFOLD_KEEP_DAYS: string(keepDays)
      LEASEFOLD_INSTANCE_MEMORY_MB: string(instanceMemoryMB)
      LEASEFOLD_RESULT_LINKS: resultLinks ? 'true' : 'false'
      // Flex has no upper limit as other plans do (host.json keeps to that of Consumption). Longer terms are fewer hand-overs, each of
      // which may wait for an instance to start.
      AzureFunctionsJobHost__functionTimeout: '00:30:00'
      LEASEFOLD_BUDGET_S: '1500'
      // The timer trigger reads this one itself, so it must be there.
      LEASEFOLD_SCHEDULE: '0 * * * * *'
    },
    empty(telemetryConnection)
      ? {}
      : {
          APPLICATIONINSIGHTS_CONNECTION_STRING: telemetryConnection
          APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identity.properties.clientId};Authorization=AAD'
        },
    mapValues(settings, value => string(value))
  )
}

resource publishing 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = [
  for channel in ['scm', 'ftp']: {
    parent: site
    name: channel
    properties: {
      allow: false
    }
  }
]

@description('Name of the app.')
output name string = site.name

@description('Object id of the app\'s identity.')
output principalId string = identity.properties.principalId

@description('Host name under which the API answers.')
output hostName string = site.properties.defaultHostName

@description('Resource id of the host storage account.')
output hostStorageId string = hostStorage.id

@description('Name of the host storage account.')
output hostStorageName string = hostStorage.name
