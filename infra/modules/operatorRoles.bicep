// What one person, group or program outside of the apps may do with the data, through `leasefold` on a command line.

import { operator, roles, steerCreates, steerDeletes, steerPaths, steerQueues } from '../shared.bicep'

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

@description('Whether it signs links to what it reads.')
param resultLinks bool

var steers = who.access == 'steer'
var writes = '!(ActionMatches{\'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write\'})'

resource account 'Microsoft.Storage/storageAccounts@2025-01-01' existing = {
  name: accountName
}

resource blobService 'Microsoft.Storage/storageAccounts/blobServices@2025-01-01' existing = {
  parent: account
  name: 'default'
}

resource steered 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' existing = [
  for one in items(steerPaths): {
    parent: blobService
    name: '${namespace}-${one.key}'
  }
]

resource queueService 'Microsoft.Storage/storageAccounts/queueServices@2025-01-01' existing = {
  parent: account
  name: 'default'
}

resource sentTo 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-01-01' existing = [
  for suffix in steerQueues: {
    parent: queueService
    name: '${namespace}-${suffix}'
  }
]

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

// A link can do no more than the identity that signed it.
resource signLinks 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (resultLinks) {
  name: guid(account.id, who.principalId, roles['Storage Blob Delegator'])
  scope: account
  properties: {
    principalId: who.principalId
    principalType: who.principalType
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles['Storage Blob Delegator'])
  }
}

// The role alone could forge results: the condition leaves of it what the commands write, and no delete but of inputs; where they only
// create, blobs/add/action is enough for a new blob and blobs/write, which replaces one, is left out. What is left over
// is the container itself, which may be deleted and comes back within its week.
resource steerRuns 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (one, i) in items(steerPaths): if (steers) {
    name: guid(steered[i].id, who.principalId, roles['Storage Blob Data Contributor'])
    scope: steered[i]
    properties: {
      description: 'Steers runs: writes ${one.value} of ${one.key}.'
      principalId: who.principalId
      principalType: who.principalType
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Storage Blob Data Contributor']
      )
      conditionVersion: '2.0'
      condition: '${contains(steerCreates, one.key) ? '(${writes}) AND ' : ''}${contains(steerDeletes, one.key) ? '' : '(!(ActionMatches{\'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/delete\'})) AND '}(!(ActionMatches{\'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/move/action\'})) AND ((${writes} AND !(ActionMatches{\'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/add/action\'})) OR (@Resource[Microsoft.Storage/storageAccounts/blobServices/containers/blobs:path] StringLike \'${one.value}\'))'
    }
  }
]

// Wakes for the leader and questions for the workers. The role sends and does not take: no message is lost by it.
resource sendMessages 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (suffix, i) in steerQueues: if (steers) {
    name: guid(sentTo[i].id, who.principalId, roles['Storage Queue Data Message Sender'])
    scope: sentTo[i]
    properties: {
      description: 'Steers runs: sends messages to ${suffix}.'
      principalId: who.principalId
      principalType: who.principalType
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Storage Queue Data Message Sender']
      )
    }
  }
]
