// Event Grid tells of each run that ends: of the blob that a leader then writes (docs/NOTICES.md). Into a queue that is made here,
// to an https address, or both.

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

@description('Queue of the data account that gets the events; empty for none.')
@maxLength(63)
param queueName string

@description('Address that gets the events, which may hold a key; empty for none. It has to answer the validation of Event Grid.')
@secure()
param webhook string

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

resource queue 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-01-01' = if (!empty(queueName)) {
  parent: queueService
  name: empty(queueName) ? 'none' : queueName
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

module role 'endedEventsRole.bicep' = if (!empty(queueName)) {
  name: 'ended-events-role'
  params: {
    principalId: topic.identity.principalId
    accountName: accountName
    queueName: empty(queueName) ? 'none' : queueName
  }
  dependsOn: [queue]
}

// The account has no keys, so the topic shows its own identity to the queue.
resource toQueue 'Microsoft.EventGrid/systemTopics/eventSubscriptions@2025-02-15' = if (!empty(queueName)) {
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
          queueName: empty(queueName) ? 'none' : queueName
        }
      }
    }
  }
  dependsOn: [role]
}

resource toWebhook 'Microsoft.EventGrid/systemTopics/eventSubscriptions@2025-02-15' = if (!empty(webhook)) {
  parent: topic
  name: 'ended-to-webhook'
  properties: {
    eventDeliverySchema: 'CloudEventSchemaV1_0'
    filter: filter
    destination: {
      endpointType: 'WebHook'
      properties: {
        endpointUrl: webhook
        minimumTlsVersionAllowed: '1.2'
      }
    }
  }
}
