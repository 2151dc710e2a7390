// Roles of one identity on the whole group. The name of an assignment holds the principal, as in appRoles.bicep.

@description('Object id of the identity.')
@minLength(36)
@maxLength(36)
param principalId string

@sealed()
@description('One role that the identity gets.')
type assignment = {
  @description('Resource id of the role.')
  roleDefinitionId: string

  @description('What it is for.')
  description: string

  @description('What limits the role.')
  condition: string?
}

@description('The roles.')
@minLength(1)
param assignments assignment[]

resource given 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for one in assignments: {
    name: guid(resourceGroup().id, principalId, one.roleDefinitionId)
    properties: {
      description: one.description
      principalId: principalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: one.roleDefinitionId
      conditionVersion: empty(one.?condition) ? null : '2.0'
      condition: one.?condition
    }
  }
]
