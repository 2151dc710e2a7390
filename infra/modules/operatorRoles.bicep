// What one person, group or program outside of the apps may do with the data, through `leasefold` on a command line.

import { containerSuffixes, operator, roles } from '../shared.bicep'

@description('Who it is and what is allowed.')
param who operator

@description('The data account.')
@minLength(3)
@maxLength(24)
param accountName string

@description('Prefix of every container and queue.')
@minLength(1)
@maxLength(40)
param namespace string

var steers = who.access == 'steer'

resource account 'Microsoft.Storage/storageAccounts@2025-01-01' existing = {
  name: accountName
}

resource blobService 'Microsoft.Storage/storageAccounts/blobServices@2025-01-01' existing = {
  parent: account
  name: 'default'
}

resource containers 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' existing = [
  for suffix in containerSuffixes: {
    parent: blobService
    name: '${namespace}-${suffix}'
  }
]

resource queueService 'Microsoft.Storage/storageAccounts/queueServices@2025-01-01' existing = {
  parent: account
  name: 'default'
}

resource wakeQueue 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-01-01' existing = {
  parent: queueService
  name: '${namespace}-wake'
}

resource readBlobs 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(account.id, who.principalId, roles['Storage Blob Data Reader'])
  scope: account
  properties: {
    principalId: who.principalId
    principalType: who.principalType
    roleDefinitionId: subscriptionResourceId(
      'Microsoft.Authorization/roleDefinitions',
      roles['Storage Blob Data Reader']
    )
  }
}

resource readQueues 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(account.id, who.principalId, roles['Storage Queue Data Reader'])
  scope: account
  properties: {
    principalId: who.principalId
    principalType: who.principalType
    roleDefinitionId: subscriptionResourceId(
      'Microsoft.Authorization/roleDefinitions',
      roles['Storage Queue Data Reader']
    )
  }
}

resource steerRuns 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (suffix, i) in containerSuffixes: if (steers) {
    name: guid(containers[i].id, who.principalId, roles['Storage Blob Data Contributor'])
    scope: containers[i]
    properties: {
      description: 'Steers runs: ${suffix}.'
      principalId: who.principalId
      principalType: who.principalType
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Storage Blob Data Contributor']
      )
    }
  }
]

resource sendWakes 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (steers) {
  name: guid(wakeQueue.id, who.principalId, roles['Storage Queue Data Message Sender'])
  scope: wakeQueue
  properties: {
    principalId: who.principalId
    principalType: who.principalType
    roleDefinitionId: subscriptionResourceId(
      'Microsoft.Authorization/roleDefinitions',
      roles['Storage Queue Data Message Sender']
    )
  }
}
