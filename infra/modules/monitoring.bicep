// Where logs go: a workspace, an Application Insights component that takes Entra tokens only, and who is told.

@description('Prefix of every name.')
@minLength(2)
param prefix string

@description('Region of the logs.')
param location string

@description('Tags of every resource.')
param tags object

@description('How many days logs stay.')
@minValue(30)
@maxValue(730)
param retentionDays int

@description('Most that is taken in per day, GB; -1 for no cap. Beyond it logs and alerts stop until the next day.')
@minValue(-1)
@maxValue(4000)
param dailyCapGb int

@description('Where alerts are mailed to; empty for nowhere.')
param alertEmail string

resource workspace 'Microsoft.OperationalInsights/workspaces@2025-02-01' = {
  name: '${prefix}-logs'
  location: location
  tags: tags
  properties: {
    sku: {
      name: 'PerGB2018'
    }
    retentionInDays: retentionDays
    workspaceCapping: {
      dailyQuotaGb: dailyCapGb
    }
    features: {
      disableLocalAuth: true
      enableLogAccessUsingOnlyResourcePermissions: true
    }
  }
}

resource component 'Microsoft.Insights/components@2020-02-02' = {
  name: '${prefix}-insights'
  location: location
  tags: tags
  kind: 'web'
  properties: {
    Application_Type: 'web'
    WorkspaceResourceId: workspace.id
    IngestionMode: 'LogAnalytics'
    // Only identities with the role Monitoring Metrics Publisher write logs; the connection string is no secret then.
    DisableLocalAuth: true
  }
}

resource actionGroup 'Microsoft.Insights/actionGroups@2023-01-01' = if (!empty(alertEmail)) {
  name: '${prefix}-alerts'
  location: 'global'
  tags: tags
  properties: {
    enabled: true
    groupShortName: 'leasefold'
    emailReceivers: [
      {
        name: 'mail'
        emailAddress: alertEmail
        useCommonAlertSchema: true
      }
    ]
  }
}

@description('Resource id of the workspace.')
output workspaceId string = workspace.id

@description('Name of the component.')
output componentName string = component.name

@description('Where apps send logs to; no secret, because the component takes tokens only.')
output connectionString string = component.properties.ConnectionString

@description('Resource id of the action group; empty without one.')
output actionGroupId string = empty(alertEmail) ? '' : actionGroup.id
