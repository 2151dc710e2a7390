// Private endpoints of one storage account: one for each service, each with its private name.

@description('Prefix of every name.')
@minLength(2)
param prefix string

@description('Region of the subnet.')
param location string

@description('Tags of every resource.')
param tags object

@description('Subnet in which the endpoints get their addresses.')
@minLength(1)
param subnetId string

@description('The storage account.')
@minLength(1)
param storageAccountId string

@sealed()
@description('One service of the account and the DNS zone that names it.')
type service = {
  @description('Which service.')
  group: 'blob' | 'queue'
  @description('Its private DNS zone.')
  @minLength(1)
  zoneId: string
}

@description('The services to reach.')
@minLength(1)
@maxLength(2)
param services service[]

// One after the other: a subnet that is being changed refuses the next endpoint.
@batchSize(1)
resource endpoints 'Microsoft.Network/privateEndpoints@2024-07-01' = [
  for one in services: {
    name: '${prefix}-${one.group}-endpoint'
    location: location
    tags: tags
    properties: {
      subnet: {
        id: subnetId
      }
      privateLinkServiceConnections: [
        {
          name: one.group
          properties: {
            privateLinkServiceId: storageAccountId
            groupIds: [
              one.group
            ]
          }
        }
      ]
    }
  }
]

resource zoneGroups 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2024-07-01' = [
  for (one, i) in services: {
    parent: endpoints[i]
    name: 'default'
    properties: {
      privateDnsZoneConfigs: [
        {
          name: one.group
          properties: {
            privateDnsZoneId: one.zoneId
          }
        }
      ]
    }
  }
]
