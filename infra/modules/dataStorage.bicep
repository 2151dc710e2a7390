// The data account: the lease, the runs, the results and the queues of every app of this installation.

import { containerSuffixes, queueSuffixes } from '../shared.bicep'

@description('Name of the account, unique in the world.')
@minLength(3)
@maxLength(24)
param name string

@description('Region of the account.')
param location string

@description('Tags of every resource.')
param tags object

@description('Replication. Zone-redundant storage survives a zone; no choice carries the lease over to another region by itself.')
@allowed(['Standard_LRS', 'Standard_GRS', 'Standard_RAGRS', 'Standard_ZRS', 'Standard_GZRS', 'Standard_RAGZRS'])
param sku string

@description('Prefix of every container and queue.')
@minLength(1)
@maxLength(40)
param namespace string

@description('Queue that gets completion events; empty for none.')
@maxLength(63)
param endedQueue string

@description('After so many days Leasefold deletes a finished run; 0 keeps runs for ever and leaves the backstop out.')
@minValue(0)
@maxValue(36500)
param keepDays int

@description('Whether the account answers on private endpoints only.')
param privateNetwork bool

@description('Workspace that gets the log of writes, deletes and refusals; empty for none.')
param workspaceId string

@description('Whether the account is locked against deletion.')
param lock bool

// A backstop for what the leader's own clean-up could not delete: three times the keep time, never below 90 days.
var backstopDays = max(90, keepDays * 3)

resource account 'Microsoft.Storage/storageAccounts@2025-01-01' = {
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: {
    name: sku
  }
  properties: {
    accessTier: 'Hot'
    // Nobody has a key: every caller shows an Entra identity.
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    allowedCopyScope: 'AAD'
    isLocalUserEnabled: false
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: privateNetwork ? 'Disabled' : 'Enabled'
    networkAcls: {
      // The rules of the life cycle run as a service of Azure, which the firewall could block.
      bypass: 'AzureServices'
      defaultAction: privateNetwork ? 'Deny' : 'Allow'
    }
    // Holds for user delegation signatures, the only ones left without keys.
    sasPolicy: {
      expirationAction: 'Log'
      sasExpirationPeriod: '00.01:00:00'
    }
  }
}

resource blobService 'Microsoft.Storage/storageAccounts/blobServices@2025-01-01' = {
  parent: account
  name: 'default'
  properties: {
    // Off on purpose: each heartbeat of a leader writes metadata, and every write would leave a version, one a second.
    isVersioningEnabled: false
    // An input or result that was deleted or overwritten comes back within a week. The setting is the account's, so replaced
    // states and partials cleaned up stay (and cost) as long; metadata, such as the heartbeat, leaves nothing behind.
    deleteRetentionPolicy: {
      enabled: true
      days: 7
    }
    // A whole container deleted by mistake comes back within a week.
    containerDeleteRetentionPolicy: {
      enabled: true
      days: 7
    }
  }
}

resource containers 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' = [
  for suffix in containerSuffixes: {
    parent: blobService
    name: '${namespace}-${suffix}'
    properties: {
      publicAccess: 'None'
    }
  }
]

resource queueService 'Microsoft.Storage/storageAccounts/queueServices@2025-01-01' = {
  parent: account
  name: 'default'
}

resource queues 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-01-01' = [
  for suffix in queueSuffixes: {
    parent: queueService
    name: '${namespace}-${suffix}'
  }
]

resource poisonQueues 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-01-01' = [
  for suffix in queueSuffixes: {
    parent: queueService
    name: '${namespace}-${suffix}-poison'
  }
]

resource ended 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-01-01' = if (!empty(endedQueue)) {
  parent: queueService
  name: empty(endedQueue) ? 'none' : endedQueue
}

// Only runs and results: a rule on coordination or active would delete a lease or a run that is not closed.
resource lifecycle 'Microsoft.Storage/storageAccounts/managementPolicies@2025-01-01' = if (keepDays > 0) {
  parent: account
  name: 'default'
  properties: {
    policy: {
      rules: [
        {
          name: 'leasefold-backstop'
          enabled: true
          type: 'Lifecycle'
          definition: {
            filters: {
              blobTypes: [
                'blockBlob'
              ]
              prefixMatch: [
                '${namespace}-runs/'
                '${namespace}-results/'
              ]
            }
            actions: {
              baseBlob: {
                delete: {
                  daysAfterModificationGreaterThan: backstopDays
                }
              }
            }
          }
        }
      ]
    }
  }
  dependsOn: [
    containers
  ]
}

resource blobLog 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = if (!empty(workspaceId)) {
  name: 'to-workspace'
  scope: blobService
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'StorageWrite'
        enabled: true
      }
      {
        category: 'StorageDelete'
        enabled: true
      }
    ]
  }
}

resource queueLog 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = if (!empty(workspaceId)) {
  name: 'to-workspace'
  scope: queueService
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'StorageDelete'
        enabled: true
      }
    ]
  }
}

resource accountLock 'Microsoft.Authorization/locks@2020-05-01' = if (lock) {
  name: 'keep'
  scope: account
  properties: {
    level: 'CanNotDelete'
    notes: 'Holds the runs and results of Leasefold; remove this lock before you tear it down.'
  }
}

@description('Resource id of the account.')
output id string = account.id

@description('Name of the account, known only once it exists.')
output name string = account.name

@description('Address of the blob service.')
output blobServiceUri string = account.properties.primaryEndpoints.blob

@description('Address of the queue service.')
output queueServiceUri string = account.properties.primaryEndpoints.queue
