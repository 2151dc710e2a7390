// One virtual network per region, peered with the first, and the private names that blobs and queues answer to in all.

import { region } from '../shared.bicep'

@description('Prefix of every name.')
@minLength(2)
param prefix string

@description('The regions, first the one with the data.')
@minLength(1)
@maxLength(8)
param regions region[]

@description('Address space of all networks together; each region takes a /20 of it.')
param addressPrefix string

@description('Whether workers in containers need a subnet in the first region.')
param withWorkers bool

@description('Tags of every resource.')
param tags object

var zones = [
  'privatelink.blob.${environment().suffixes.storage}'
  'privatelink.queue.${environment().suffixes.storage}'
]
var regionCount = length(regions)
var ranges = [for i in range(0, regionCount): cidrSubnet(addressPrefix, 20, i)]

resource networks 'Microsoft.Network/virtualNetworks@2024-07-01' = [
  for (one, i) in regions: {
    name: '${prefix}-${one.short}-net'
    location: one.name
    tags: tags
    // Subnets are resources of their own: if they were named here, a deployment would delete any other, such as that of a gateway.
    properties: {
      addressSpace: {
        addressPrefixes: [ranges[i]]
      }
    }
  }
]

// Flex instances take an address each, from a subnet that is theirs alone.
resource appSubnets 'Microsoft.Network/virtualNetworks/subnets@2024-07-01' = [
  for i in range(0, regionCount): {
    parent: networks[i]
    name: 'apps'
    properties: {
      addressPrefix: cidrSubnet(ranges[i], 24, 0)
      delegations: [
        {
          name: 'flex'
          properties: {
            serviceName: 'Microsoft.App/environments'
          }
        }
      ]
    }
  }
]

// After the others, as the peerings below: a network takes one change at a time.
resource endpointSubnets 'Microsoft.Network/virtualNetworks/subnets@2024-07-01' = [
  for i in range(0, regionCount): {
    parent: networks[i]
    name: 'endpoints'
    properties: {
      addressPrefix: cidrSubnet(ranges[i], 24, 1)
      privateEndpointNetworkPolicies: 'Disabled'
    }
    dependsOn: [appSubnets]
  }
]

// A subnet of its own, as an environment of containers takes all of one.
resource workerSubnet 'Microsoft.Network/virtualNetworks/subnets@2024-07-01' = if (withWorkers) {
  parent: networks[0]
  name: 'workers'
  properties: {
    addressPrefix: cidrSubnet(ranges[0], 23, 1)
    delegations: [
      {
        name: 'containers'
        properties: {
          serviceName: 'Microsoft.App/environments'
        }
      }
    ]
  }
  dependsOn: [endpointSubnets]
}

// The data account has its private endpoints in the first region; the others reach them over a peering.
resource toFirst 'Microsoft.Network/virtualNetworks/virtualNetworkPeerings@2024-07-01' = [
  for i in range(1, regionCount - 1): {
    parent: networks[i]
    name: 'to-${regions[0].short}'
    properties: {
      allowVirtualNetworkAccess: true
      remoteVirtualNetwork: {
        id: networks[0].id
      }
    }
    dependsOn: [endpointSubnets, workerSubnet]
  }
]

// One after the other, and after the other direction: a network takes one change at a time, and a peering that finds its
// other end in the middle of one fails (github.com/Azure/bicep/issues/6278).
@batchSize(1)
resource fromFirst 'Microsoft.Network/virtualNetworks/virtualNetworkPeerings@2024-07-01' = [
  for i in range(1, regionCount - 1): {
    parent: networks[0]
    name: 'to-${regions[i].short}'
    properties: {
      allowVirtualNetworkAccess: true
      remoteVirtualNetwork: {
        id: networks[i].id
      }
    }
    dependsOn: [toFirst]
  }
]

resource dnsZones 'Microsoft.Network/privateDnsZones@2024-06-01' = [
  for zone in zones: {
    name: zone
    location: 'global'
    tags: tags
  }
]

resource links 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [
  for i in range(0, 2 * regionCount): {
    parent: dnsZones[i % 2]
    name: '${regions[i / 2].short}-link'
    location: 'global'
    tags: tags
    properties: {
      registrationEnabled: false
      virtualNetwork: {
        id: networks[i / 2].id
      }
    }
  }
]

@description('Per region the subnet that apps go out through.')
output appSubnetIds string[] = [for i in range(0, regionCount): appSubnets[i].id]

@description('The subnet of workers in containers; empty without them.')
output workerSubnetId string = withWorkers ? workerSubnet.id : ''

@description('Per region the subnet of private endpoints.')
output endpointSubnetIds string[] = [for i in range(0, regionCount): endpointSubnets[i].id]

@description('DNS zone of blob endpoints.')
output blobZoneId string = dnsZones[0].id

@description('DNS zone of queue endpoints.')
output queueZoneId string = dnsZones[1].id
