// Alerts and the workbook. Both load their queries from infra/queries, so that what wakes somebody is what they then see.

import { alertSwitches } from '../shared.bicep'

@description('Prefix of every name.')
@minLength(2)
param prefix string

@description('Region of the workspace.')
param location string

@description('Tags of every resource.')
param tags object

@description('The workspace with the logs.')
@minLength(1)
param workspaceId string

@description('Who is told; empty for nobody, the alert still shows in the portal.')
param actionGroupId string

@description('Most that the logs take in per day, GB; -1 for no cap.')
param dailyCapGb int

@description('Where somebody on call reads docs/OPERATIONS.md, such as its page in your repository; empty for its path alone.')
@maxLength(500)
param runbook string

@description('Which alerts are on; those not named are.')
param switches alertSwitches

// Every query yields rows only when something is wrong, so the rule is the same for all: more than zero rows. An alert is
// billed by how often it is asked, so only the urgent ones are asked every five minutes. A query that goes by the absence
// of something, or by what comes rarely, looks further back than its window (`range`), or its alert would end by itself.
var alerts = [
  {
    name: 'no-leader'
    enabled: switches.?noLeader ?? true
    severity: 1
    every: 'PT5M'
    window: 'PT1H'
    range: 'P1D'
    title: 'Runs are open and nobody leads'
    query: loadTextContent('../queries/no-leader.kql')
  }
  {
    name: 'two-holders'
    enabled: switches.?twoHolders ?? true
    severity: 0
    every: 'PT5M'
    window: 'PT1H'
    range: 'PT1H'
    title: 'Two instances claimed the same term'
    query: loadTextContent('../queries/two-holders.kql')
  }
  {
    name: 'poison'
    enabled: switches.?poison ?? true
    severity: 2
    every: 'PT15M'
    window: 'PT15M'
    range: 'PT15M'
    title: 'Messages were set aside after their last delivery'
    query: loadTextContent('../queries/poison.kql')
  }
  {
    name: 'old-messages'
    enabled: switches.?oldMessages ?? true
    severity: 2
    every: 'PT15M'
    window: 'PT15M'
    range: 'PT15M'
    title: 'Messages wait too long for a worker'
    query: loadTextContent('../queries/old-messages.kql')
  }
  {
    name: 'stalled-run'
    enabled: switches.?stalledRun ?? true
    severity: 2
    every: 'PT15M'
    window: 'PT1H'
    range: 'P1D'
    title: 'A run goes on without progress'
    query: loadTextContent('../queries/stalled-run.kql')
  }
  {
    name: 'storage-denied'
    enabled: switches.?storageDenied ?? true
    severity: 1
    every: 'PT5M'
    window: 'PT15M'
    range: 'PT15M'
    title: 'Storage answers 403: a role or a network rule is missing'
    query: loadTextContent('../queries/storage-denied.kql')
  }
  {
    name: 'host-errors'
    enabled: switches.?hostErrors ?? true
    severity: 2
    every: 'PT15M'
    window: 'PT15M'
    range: 'PT15M'
    title: 'The Functions host reports errors'
    query: loadTextContent('../queries/host-errors.kql')
  }
  {
    name: 'no-tick'
    enabled: switches.?noTick ?? true
    severity: 2
    every: 'PT5M'
    window: 'PT1H'
    range: 'P1D'
    title: 'Runs are open and the timer of an app is silent'
    query: loadTextContent('../queries/no-tick.kql')
  }
  {
    name: 'run-failed'
    enabled: switches.?runFailed ?? true
    severity: 2
    every: 'PT15M'
    window: 'PT15M'
    range: 'PT15M'
    title: 'A run failed'
    query: loadTextContent('../queries/run-failed.kql')
  }
  {
    name: 'schedule-skipped'
    enabled: switches.?scheduleSkipped ?? true
    severity: 2
    every: 'PT15M'
    window: 'PT15M'
    range: 'PT15M'
    title: 'A schedule was due and got no run'
    query: loadTextContent('../queries/schedule-skipped.kql')
  }
  {
    name: 'log-cap'
    enabled: dailyCapGb > 0 && (switches.?logCap ?? true)
    severity: 2
    every: 'PT1H'
    window: 'PT1H'
    range: 'P1D'
    title: 'The logs of a day are near their cap, beyond which every alert is silent'
    query: replace(loadTextContent('../queries/log-cap.kql'), 'capGb = 1.0', 'capGb = ${dailyCapGb}.0')
  }
]

var workbookQueries = [
  {
    name: 'runs'
    title: 'Runs'
    query: loadTextContent('../queries/runs.kql')
  }
  {
    name: 'leaders'
    title: 'Terms and their leaders'
    query: loadTextContent('../queries/leaders.kql')
  }
]

var portalOfWorkbook = '${environment().portal}/#@${tenant().tenantId}/resource${workbook.id}/workbook'

resource rules 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = [
  for alert in alerts: {
    name: '${prefix}-${alert.name}'
    location: location
    tags: tags
    kind: 'LogAlert'
    properties: {
      displayName: 'Leasefold: ${alert.title}'
      description: 'What it means and what to do: ${empty(runbook) ? 'docs/OPERATIONS.md' : runbook}#${alert.name} . What the queries of all alerts show: ${portalOfWorkbook}'
      enabled: alert.enabled
      severity: alert.severity
      scopes: [
        workspaceId
      ]
      evaluationFrequency: alert.every
      windowSize: alert.window
      overrideQueryTimeRange: alert.range
      // Storage log tables appear with their first row; the query names them before that.
      skipQueryValidation: true
      autoMitigate: true
      criteria: {
        allOf: [
          {
            query: alert.query
            timeAggregation: 'Count'
            operator: 'GreaterThan'
            threshold: 0
            failingPeriods: {
              numberOfEvaluationPeriods: 1
              minFailingPeriodsToAlert: 1
            }
          }
        ]
      }
      actions: {
        actionGroups: empty(actionGroupId) ? [] : [actionGroupId]
      }
    }
  }
]

var tables = [
  for item in concat(workbookQueries, alerts): {
    type: 3
    name: item.name
    content: {
      version: 'KqlItem/1.0'
      title: item.title
      query: item.query
      size: 1
      queryType: 0
      resourceType: 'microsoft.operationalinsights/workspaces'
      timeContext: {
        durationMs: 86400000
      }
      noDataMessage: 'Nothing, as it should be.'
    }
  }
]

resource workbook 'Microsoft.Insights/workbooks@2023-06-01' = {
  name: guid(workspaceId, prefix, 'workbook')
  location: location
  tags: tags
  kind: 'shared'
  properties: {
    displayName: 'Leasefold ${prefix}'
    category: 'workbook'
    sourceId: workspaceId
    serializedData: string({
      version: 'Notebook/1.0'
      items: tables
      isLocked: false
    })
  }
}
