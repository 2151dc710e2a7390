// Two regions on one data account, which is copied to the pair of the first. One group steers runs and another reads them; their ids stand
// for yours.

using 'main.bicep'

param environmentName = 'prod'
param regions = [
  { name: 'northeurope', short: 'ne' }
  { name: 'swedencentral', short: 'sc' }
]
param dataSku = 'Standard_GZRS'
param operators = [
  { principalId: '00000000-0000-0000-0000-000000000001', principalType: 'Group', access: 'steer' }
  { principalId: '00000000-0000-0000-0000-000000000002', principalType: 'Group', access: 'read' }
]
