// What one app, or the workers in containers, may do with the data: each role on one container, one queue or one component, never
// on the account; and an app with the account of its own host. The name of an assignment holds the principal: an identity that is made anew is another
// one, and Azure refuses to hand an assignment over. So the roles are a module, which learns the principal at its start.

import { appContainerRoles, containerSuffixes, queueSuffixes, roles } from '../shared.bicep'

@description('Object id of the app\'s identity.')
@minLength(36)
@maxLength(36)
param principalId string

@description('The data account.')
@minLength(3)
@maxLength(24)
param accountName string

@description('Prefix of every container and queue.')
@minLength(1)
@maxLength(40)
param namespace string

@description('Queue that gets completion events; empty for none.')
@maxLength(63)
param endedQueue string

@description('The account of the app\'s host; empty for workers in containers, which have none.')
@maxLength(24)
param hostStorageName string

@description('Application Insights component that the app writes to; empty for none.')
param componentName string

@description('Whether it signs links to results.')
param resultLinks bool

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

resource queues 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-01-01' existing = [
  for suffix in queueSuffixes: {
    parent: queueService
    name: '${namespace}-${suffix}'
  }
]

resource poisonQueues 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-01-01' existing = [
  for suffix in queueSuffixes: {
    parent: queueService
    name: '${namespace}-${suffix}-poison'
  }
]

resource ended 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-01-01' existing = if (!empty(endedQueue)) {
  parent: queueService
  name: empty(endedQueue) ? 'none' : endedQueue
}

resource component 'Microsoft.Insights/components@2020-02-02' existing = if (!empty(componentName)) {
  name: empty(componentName) ? 'none' : componentName
}

resource hostStorage 'Microsoft.Storage/storageAccounts@2025-01-01' existing = if (!empty(hostStorageName)) {
  name: empty(hostStorageName) ? 'none' : hostStorageName
}

// Locks, keys and the package are blobs; timer and queue triggers need nothing else of the host's own account.
resource hostRole 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (!empty(hostStorageName)) {
  name: guid(hostStorage.id, principalId, roles['Storage Blob Data Owner'])
  scope: hostStorage
  properties: {
    description: 'The Functions host keeps its locks, keys and package here.'
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId(
      'Microsoft.Authorization/roleDefinitions',
      roles['Storage Blob Data Owner']
    )
  }
}

resource containerRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (suffix, i) in containerSuffixes: {
    name: guid(containers[i].id, principalId, roles[appContainerRoles[suffix]])
    scope: containers[i]
    properties: {
      description: 'Leasefold uses ${suffix}.'
      principalId: principalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles[appContainerRoles[suffix]]
      )
    }
  }
]

// Message Processor and Sender together are not enough: the host prolongs a message's time while a function runs, the
// leader does so with its dead-man's wake (both Update Message), and the app creates a queue that is missing.
resource queueRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (suffix, i) in queueSuffixes: {
    name: guid(queues[i].id, principalId, roles['Storage Queue Data Contributor'])
    scope: queues[i]
    properties: {
      description: 'Leasefold sends and takes messages of ${suffix}.'
      principalId: principalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Storage Queue Data Contributor']
      )
    }
  }
]

resource poisonQueueRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (suffix, i) in queueSuffixes: {
    name: guid(poisonQueues[i].id, principalId, roles['Storage Queue Data Contributor'])
    scope: poisonQueues[i]
    properties: {
      description: 'The host sets messages of ${suffix} aside, Leasefold records them.'
      principalId: principalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Storage Queue Data Contributor']
      )
    }
  }
]

// A link can do no more than the identity that signed it. Azure has this role for whole accounts only.
resource linkRole 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (resultLinks) {
  name: guid(account.id, principalId, roles['Storage Blob Delegator'])
  scope: account
  properties: {
    description: 'Leasefold signs links to results.'
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles['Storage Blob Delegator'])
  }
}

resource endedRole 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (!empty(endedQueue)) {
  name: guid(ended.id, principalId, roles['Storage Queue Data Message Sender'])
  scope: ended
  properties: {
    description: 'Leasefold sends completion events.'
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId(
      'Microsoft.Authorization/roleDefinitions',
      roles['Storage Queue Data Message Sender']
    )
  }
}

resource telemetryRole 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (!empty(componentName)) {
  name: guid(component.id, principalId, roles['Monitoring Metrics Publisher'])
  scope: component
  properties: {
    description: 'Leasefold writes its logs.'
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId(
      'Microsoft.Authorization/roleDefinitions',
      roles['Monitoring Metrics Publisher']
    )
  }
}
