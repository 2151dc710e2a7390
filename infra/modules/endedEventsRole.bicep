// What Event Grid may do: send into the one queue. The name of the assignment holds the principal, so it is a module (appRoles.bicep).

import { roles } from '../shared.bicep'

@description('Object id of the topic\'s identity.')
@minLength(36)
@maxLength(36)
param principalId string

@description('The data account.')
@minLength(3)
@maxLength(24)
param accountName string

@description('The queue.')
@minLength(3)
@maxLength(63)
param queueName string

resource account 'Microsoft.Storage/storageAccounts@2025-01-01' existing = {
  name: accountName
}

resource queueService 'Microsoft.Storage/storageAccounts/queueServices@2025-01-01' existing = {
  parent: account
  name: 'default'
}

resource queue 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-01-01' existing = {
  parent: queueService
  name: queueName
}

resource sender 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(queue.id, principalId, roles['Storage Queue Data Message Sender'])
  scope: queue
  properties: {
    description: 'Event Grid tells of ended runs.'
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId(
      'Microsoft.Authorization/roleDefinitions',
      roles['Storage Queue Data Message Sender']
    )
  }
}
