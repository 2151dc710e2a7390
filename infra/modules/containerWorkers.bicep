// Workers in containers: `leasefold work` beside the apps, none while no pack waits. They have the roles of an app and lead
// nothing. Their time limit and settings are those of the apps, or a pack would depend on where it runs.

import { flexRegion, leasefoldSettings, secretAddresses } from '../shared.bicep'

@description('Prefix of every name.')
@minLength(2)
@maxLength(27)
param prefix string

@description('Region.')
param location flexRegion

@description('Tags of every resource.')
param tags object

@description('The image.')
@minLength(1)
param image string

@description('Server of its registry; empty for a public one.')
param registry string

@description('The most workers.')
@minValue(1)
@maxValue(1000)
param replicas int

@description('Cores of one worker.')
@allowed([1, 2, 4])
param cores int

@description('Profile of the machines that they run on.')
@minLength(1)
param profile string

@description('Subnet that the workers run in; empty for none.')
param subnetId string

@description('The data account.')
@minLength(3)
@maxLength(24)
param accountName string

@description('Prefix of every container and queue.')
@minLength(1)
@maxLength(40)
param namespace string

@description('Further LEASEFOLD_ settings.')
param settings leasefoldSettings

@description('Secrets of a Key Vault, by the names that the workers read them under: the address of each.')
param keyVaultReferences secretAddresses

@description('Blob service of the data account.')
param blobServiceUri string

@description('Queue service of the data account.')
param queueServiceUri string

@description('Workspace that takes what the workers print; empty for none.')
param workspaceId string

@description('Names of secrets take no capitals and no _.')
func secretName(variable string) string => toLower(replace(variable, '_', '-'))

var isConsumption = startsWith(profile, 'Consumption')
// Its own name, as a profile on demand has; a dedicated one is named by us.
var profileName = isConsumption ? profile : 'workers'
var consumption = { name: 'Consumption', workloadProfileType: 'Consumption' }
var onDemand = { name: profile, workloadProfileType: profile }
var dedicated = { name: 'workers', workloadProfileType: profile, minimumCount: 0, maximumCount: replicas }
var healthPort = 8080

resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: '${prefix}-work-id'
  location: location
  tags: tags
}

resource managedEnvironment 'Microsoft.App/managedEnvironments@2025-01-01' = {
  name: '${prefix}-work-env'
  location: location
  tags: tags
  properties: {
    appLogsConfiguration: empty(workspaceId) ? null : { destination: 'azure-monitor' }
    vnetConfiguration: empty(subnetId) ? null : { infrastructureSubnetId: subnetId, internal: true }
    workloadProfiles: profile == 'Consumption' ? [consumption] : [consumption, isConsumption ? onDemand : dedicated]
  }
}

resource workers 'Microsoft.App/containerApps@2025-01-01' = {
  name: '${prefix}-work'
  location: location
  tags: tags
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identity.id}': {}
    }
  }
  properties: {
    environmentId: managedEnvironment.id
    workloadProfileName: profileName
    configuration: {
      activeRevisionsMode: 'Single'
      // Container Apps resolve no reference in a variable, and take the secret so.
      secrets: map(
        items(keyVaultReferences),
        one => { name: secretName(one.key), keyVaultUrl: one.value, identity: identity.id }
      )
      registries: empty(registry) ? [] : [{ server: registry, identity: identity.id }]
    }
    template: {
      terminationGracePeriodSeconds: 30
      containers: [
        {
          name: 'work'
          image: image
          args: ['--threads', string(cores), '--health', string(healthPort)]
          resources: {
            cpu: cores
            memory: '${cores * 2}Gi'
          }
          env: concat(
            map(items(keyVaultReferences), one => { name: one.key, secretRef: secretName(one.key) }),
            map(
              items(union(
                {
                  DataStorage__credential: 'managedidentity'
                  DataStorage__clientId: identity.properties.clientId
                  DataStorage__blobServiceUri: blobServiceUri
                  DataStorage__queueServiceUri: queueServiceUri
                  LEASEFOLD_NAMESPACE: namespace
                  LEASEFOLD_REGION: location
                  AzureFunctionsJobHost__functionTimeout: '00:30:00'
                },
                mapValues(settings, value => string(value))
              )),
              one => { name: one.key, value: one.value }
            )
          )
          probes: [
            {
              type: 'Liveness'
              httpGet: { port: healthPort, path: '/' }
              initialDelaySeconds: 30
              periodSeconds: 30
              failureThreshold: 4
            }
          ]
        }
      ]
      // Storage counts messages that somebody has too, so nobody is taken away whose pack would be computed again.
      scale: {
        minReplicas: 0
        maxReplicas: replicas
        rules: [
          for queue in ['packs', 'urgent']: {
            name: queue
            azureQueue: {
              accountName: accountName
              queueName: '${namespace}-${queue}'
              queueLength: cores
              identity: identity.id
            }
          }
        ]
      }
    }
  }
}

resource printed 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = if (!empty(workspaceId)) {
  name: 'printed'
  scope: managedEnvironment
  properties: {
    workspaceId: workspaceId
    logs: [
      { category: 'ContainerAppConsoleLogs', enabled: true }
    ]
  }
}

@description('Object id of the workers\' identity.')
output principalId string = identity.properties.principalId
