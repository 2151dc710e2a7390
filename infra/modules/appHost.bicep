// What an app needs before it: its identity, and the account of its host, which takes its package. A module of its own, because the
// roles of the identity are made before the site: they take minutes to arrive, and the first publish needs them.

import { flexRegion, regionsWithoutZones } from '../shared.bicep'

@description('Name of the app.')
@minLength(2)
@maxLength(60)
param name string

@description('Name of the host storage account.')
@minLength(3)
@maxLength(24)
param storageName string

@description('Region.')
param location flexRegion

@description('Tags of every resource.')
param tags object

@description('Whether the account spreads over zones, where the region has them.')
param zoneRedundant bool

@description('Whether the account answers on private endpoints only.')
param privateNetwork bool

resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: '${name}-id'
  location: location
  tags: tags
}

resource storage 'Microsoft.Storage/storageAccounts@2025-01-01' = {
  name: storageName
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: { name: zoneRedundant && !contains(regionsWithoutZones, location) ? 'Standard_ZRS' : 'Standard_LRS' }
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

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-01-01' = {
  parent: storage
  name: 'default'
}

resource packages 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' = {
  parent: blobs
  name: 'package'
  properties: {
    publicAccess: 'None'
  }
}

@description('Resource id of the identity.')
output identityId string = identity.id

@description('Client id of the identity.')
output clientId string = identity.properties.clientId

@description('Object id of the identity.')
output principalId string = identity.properties.principalId

@description('Resource id of the account.')
output storageId string = storage.id

@description('Name of the account.')
output storageName string = storage.name

@description('Blob service of the account.')
output blobServiceUri string = storage.properties.primaryEndpoints.blob

@description('Address of the container that packages are published to.')
output packageUri string = '${storage.properties.primaryEndpoints.blob}${packages.name}'
