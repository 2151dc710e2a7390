// Once per installation, by an Owner: the identities under which GitHub deploys and previews. Each proves itself with a token
// that GitHub signs for one repository and environment, so no secret is stored anywhere. A pull request runs code that nobody
// has reviewed yet, so what previews it can change nothing.
//
//   az deployment group create -g GROUP --template-file infra/bootstrap.bicep --parameters repository=OWNER/NAME

targetScope = 'resourceGroup'

import { roles } from 'shared.bicep'

@description('The GitHub repository, OWNER/NAME.')
@minLength(3)
@maxLength(140)
param repository string

@description('How the tokens of its workflows begin: the answer of `gh api repos/OWNER/NAME/actions/oidc/customization/sub`, its sub_claim_prefix. Repositories that were made, renamed or moved since July 2026 have repo:OWNER@ID/NAME@ID; empty for the older form.')
@maxLength(255)
param subjectPrefix string = ''

@description('Environments of that repository that may deploy. Restrict each to the branch main, and ask for an approval.')
@minLength(1)
@maxLength(5)
param environments string[] = [
  'production'
]

@description('Environment of that repository that pull requests run in; none of those that may deploy.')
@minLength(1)
@maxLength(255)
param previewEnvironment string = 'preview'

@description('Region of the identities.')
param location string = resourceGroup().location

@description('Tags of the identities.')
param tags object = {}

var group = resourceGroup().id
var deployerRoles = {
  Contributor: 'b24988ac-6180-42a0-ab88-20f7382dd24c'
  'Role Based Access Control Administrator': 'f58310d9-a9f6-439a-9e8d-f62e7b41a168'
}
var subject = empty(subjectPrefix) ? 'repo:${repository}' : subjectPrefix
var assignable = join(map(items(roles), one => one.value), ', ')

resource deployer 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: 'leasefold-deployer'
  location: location
  tags: tags
}

// One after the other: an identity takes one change at a time.
@batchSize(1)
resource credentials 'Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials@2024-11-30' = [
  for environment in environments: {
    parent: deployer
    name: 'github-${environment}'
    properties: {
      issuer: 'https://token.actions.githubusercontent.com'
      subject: '${subject}:environment:${environment}'
      audiences: [
        'api://AzureADTokenExchange'
      ]
    }
  }
]

module deployerRolesHere 'modules/groupRoles.bicep' = {
  name: 'deployer-roles'
  params: {
    principalId: deployer.properties.principalId
    assignments: [
      {
        roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', deployerRoles.Contributor)
        description: 'Deploys Leasefold into this group.'
      }
      {
        roleDefinitionId: subscriptionResourceId(
          'Microsoft.Authorization/roleDefinitions',
          deployerRoles['Role Based Access Control Administrator']
        )
        description: 'Assigns the roles of Leasefold, and no others.'
        // It may give away, and take back, only the roles that the template assigns.
        condition: '((!(ActionMatches{\'Microsoft.Authorization/roleAssignments/write\'})) OR (@Request[Microsoft.Authorization/roleAssignments:RoleDefinitionId] ForAnyOfAnyValues:GuidEquals {${assignable}})) AND ((!(ActionMatches{\'Microsoft.Authorization/roleAssignments/delete\'})) OR (@Resource[Microsoft.Authorization/roleAssignments:RoleDefinitionId] ForAnyOfAnyValues:GuidEquals {${assignable}}))'
      }
    ]
  }
}

resource previewer 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: 'leasefold-previewer'
  location: location
  tags: tags
}

resource previewCredential 'Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials@2024-11-30' = {
  parent: previewer
  name: 'github-${previewEnvironment}'
  properties: {
    issuer: 'https://token.actions.githubusercontent.com'
    subject: '${subject}:environment:${previewEnvironment}'
    audiences: [
      'api://AzureADTokenExchange'
    ]
  }
}

// No built-in role may ask what a deployment would change without being able to make it. Each type of the template by its name:
// */read would also read the app's master key (sites/hostruntime/host/_master/read), function keys and logs.
resource previewRole 'Microsoft.Authorization/roleDefinitions@2022-04-01' = {
  name: guid(group, 'leasefold-previewer')
  properties: {
    roleName: 'Leasefold previewer ${uniqueString(group)}'
    description: 'Reads resources, but neither their logs nor their keys, and asks what a deployment would change.'
    type: 'CustomRole'
    assignableScopes: [
      group
    ]
    permissions: [
      {
        actions: [
          'Microsoft.App/containerApps/read'
          'Microsoft.App/managedEnvironments/read'
          'Microsoft.Authorization/locks/read'
          'Microsoft.Authorization/roleAssignments/read'
          'Microsoft.EventGrid/systemTopics/read'
          'Microsoft.EventGrid/systemTopics/eventSubscriptions/read'
          'Microsoft.Insights/actionGroups/read'
          'Microsoft.Insights/components/read'
          'Microsoft.Insights/diagnosticSettings/read'
          'Microsoft.Insights/scheduledQueryRules/read'
          'Microsoft.Insights/workbooks/read'
          'Microsoft.ManagedIdentity/userAssignedIdentities/read'
          'Microsoft.Network/privateDnsZones/read'
          'Microsoft.Network/privateDnsZones/virtualNetworkLinks/read'
          'Microsoft.Network/privateEndpoints/read'
          'Microsoft.Network/privateEndpoints/privateDnsZoneGroups/read'
          'Microsoft.Network/virtualNetworks/read'
          'Microsoft.Network/virtualNetworks/subnets/read'
          'Microsoft.Network/virtualNetworks/virtualNetworkPeerings/read'
          'Microsoft.OperationalInsights/workspaces/read'
          'Microsoft.Storage/storageAccounts/read'
          'Microsoft.Storage/storageAccounts/blobServices/read'
          'Microsoft.Storage/storageAccounts/blobServices/containers/read'
          'Microsoft.Storage/storageAccounts/managementPolicies/read'
          'Microsoft.Storage/storageAccounts/queueServices/read'
          'Microsoft.Storage/storageAccounts/queueServices/queues/read'
          'Microsoft.Web/serverfarms/read'
          'Microsoft.Web/sites/read'
          'Microsoft.Web/sites/basicPublishingCredentialsPolicies/read'
          'Microsoft.Web/sites/config/read'
          'Microsoft.Resources/deployments/operations/read'
          'Microsoft.Resources/deployments/operationstatuses/read'
          'Microsoft.Resources/deployments/read'
          'Microsoft.Resources/deployments/validate/action'
          'Microsoft.Resources/deployments/whatIf/action'
          'Microsoft.Resources/subscriptions/resourceGroups/read'
        ]
      }
    ]
  }
}

module previewerRoles 'modules/groupRoles.bicep' = {
  name: 'previewer-roles'
  params: {
    principalId: previewer.properties.principalId
    assignments: [
      {
        roleDefinitionId: previewRole.id
        description: 'Previews deployments of Leasefold into this group.'
      }
    ]
  }
}

@description('AZURE_CLIENT_ID of the workflow: a variable, not a secret.')
output clientId string = deployer.properties.clientId

@description('AZURE_PREVIEW_CLIENT_ID of the workflow.')
output previewClientId string = previewer.properties.clientId

@description('AZURE_TENANT_ID of the workflow.')
output tenantId string = tenant().tenantId

@description('AZURE_SUBSCRIPTION_ID of the workflow.')
output subscriptionId string = subscription().subscriptionId
