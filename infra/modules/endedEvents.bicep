// Event Grid puts an event for each run that ends into a queue that is made here: of the blob that a leader then writes
// (docs/OPERATIONS.md).

@description('Prefix of every name.')
@minLength(2)
@maxLength(40)
param prefix string

@description('Region of the data account.')
param location string

@description('Tags of every resource.')
param tags object

@description('The data account.')
@minLength(3)
@maxLength(24)
param accountName string

@description('Prefix of every container and queue.')
@minLength(1)
@maxLength(40)
param namespace string

@description('Queue of the data account that gets the events.')
@minLength(3)
@maxLength(63)
param queueName string

var filter = {
  includedEventTypes: ['Microsoft.Storage.BlobCreated']
  subjectBeginsWith: '/blobServices/default/containers/${namespace}-runs/blobs/_closed/'
}

resource account 'Microsoft.Storage/storageAccounts@2025-01-01' existing = {
  name: accountName
}

resource queueService 'Microsoft.Storage/storageAccounts/queueServices@2025-01-01' existing = {
  parent: account
  name: 'default'
}

resource queue 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-01-01' = {
  parent: queueService
  name: queueName
}

resource topic 'Microsoft.EventGrid/systemTopics@2025-02-15' = {
  name: '${prefix}-data'
  location: location
  tags: tags
  identity: { type: 'SystemAssigned' }
  properties: {
    source: account.id
    topicType: 'Microsoft.Storage.StorageAccounts'
  }
}

module role 'endedEventsRole.bicep' = {
  name: 'ended-events-role'
  params: {
    principalId: topic.identity.principalId
    accountName: accountName
    queueName: queueName
  }
  dependsOn: [queue]
}

// The account has no keys, so the topic shows its own identity to the queue.
resource toQueue 'Microsoft.EventGrid/systemTopics/eventSubscriptions@2025-02-15' = {
  parent: topic
  name: 'ended-to-queue'
  properties: {
    eventDeliverySchema: 'CloudEventSchemaV1_0'
    filter: filter
    deliveryWithResourceIdentity: {
      identity: { type: 'SystemAssigned' }
      destination: {
        endpointType: 'StorageQueue'
        properties: {
          resourceId: account.id
          queueName: queueName
        }
      }
    }
  }
  dependsOn: [role]
}
