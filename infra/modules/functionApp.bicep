// One app in one region: plan, site, settings. Nothing of the data lives here; the app can be deleted and made again at any time.

import { alwaysReadyGroup, flexRegion, leasefoldSettings, regionsWithoutZones, secretAddresses } from '../shared.bicep'

@description('Name of the app.')
@minLength(2)
@maxLength(60)
param name string

@description('Resource id of the app\'s identity.')
@minLength(1)
param identityId string

@description('Client id of the app\'s identity.')
@minLength(1)
param clientId string

@description('Blob service of the account of its host.')
@minLength(1)
param hostBlobServiceUri string

@description('Address of the container that packages are published to.')
@minLength(1)
param packageUri string

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

@description('Whether the plan spreads over zones, where the region has them.')
param zoneRedundant bool

@description('What a deployment does to instances that work: Recreate ends them at once, RollingUpdate lets them finish.')
@allowed(['Recreate', 'RollingUpdate'])
param siteUpdateStrategy string

@description('Whether the HTTP API takes requests from the internet. Publishing, with a sign-in, works either way.')
param publicHttp bool

@description('Subnet that the app goes out through; empty for none.')
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

@description('Secrets of a Key Vault, by the names that the app reads them under: the address of each.')
param keyVaultReferences secretAddresses

@description('Blob service of the data account.')
param blobServiceUri string

@description('Queue service of the data account.')
param queueServiceUri string

@description('Whether the app writes to Application Insights.')
param monitoring bool

@description('Connection string of Application Insights, which holds no secret.')
param telemetryConnection string

resource plan 'Microsoft.Web/serverfarms@2024-11-01' = {
  name: '${name}-plan'
  location: location
  tags: tags
  kind: 'functionapp'
  sku: { name: 'FC1', tier: 'FlexConsumption' }
  properties: {
    reserved: true
    zoneRedundant: zoneRedundant && !contains(regionsWithoutZones, location)
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
      '${identityId}': {}
    }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    // Closed here, the site that packages are published to would be closed as well: so the API is closed by its own rule.
    publicNetworkAccess: 'Enabled'
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    // References to a Key Vault are resolved as this identity. Without it the app would get the text of the reference.
    keyVaultReferenceIdentity: identityId
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
          value: packageUri
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identityId
          }
        }
      }
      runtime: { name: 'node', version: runtimeVersion }
      scaleAndConcurrency: {
        instanceMemoryMB: instanceMemoryMB
        maximumInstanceCount: maximumInstanceCount
        alwaysReady: alwaysReady
      }
      // The platform takes it (API 2025-05-01), and the published types do not list it yet.
      #disable-next-line BCP037
      siteUpdateStrategy: { type: siteUpdateStrategy }
    }
  }
}

// The whole set: whatever is not here is gone after a deployment. Flex takes runtime and package from functionAppConfig,
// so no FUNCTIONS_ and no WEBSITE_ setting belongs here.
resource appSettings 'Microsoft.Web/sites/config@2024-11-01' = {
  parent: site
  name: 'appsettings'
  properties: union(
    {
      AzureWebJobsStorage__credential: 'managedidentity'
      AzureWebJobsStorage__clientId: clientId
      AzureWebJobsStorage__blobServiceUri: hostBlobServiceUri
      DataStorage__credential: 'managedidentity'
      DataStorage__clientId: clientId
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
      AzureWebJobsDisableHomepage: 'true'
      // The timer trigger reads this one itself, so it must be there.
      LEASEFOLD_SCHEDULE: '0 * * * * *'
    },
    monitoring
      ? {
          APPLICATIONINSIGHTS_CONNECTION_STRING: telemetryConnection
          APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${clientId};Authorization=AAD'
        }
      : {},
    mapValues(settings, value => string(value)),
    mapValues(keyVaultReferences, uri => '@Microsoft.KeyVault(SecretUri=${uri})')
  )
}

// Two resources and no loop: their type depends on the name, which a compiler knows only where it is written out.
resource scmPublishing 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = {
  parent: site
  name: 'scm'
  properties: {
    allow: false
  }
}

resource ftpPublishing 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = {
  parent: site
  name: 'ftp'
  properties: {
    allow: false
  }
}

@description('Name of the app.')
output name string = site.name

@description('Host name under which the API answers.')
output hostName string = site.properties.defaultHostName
