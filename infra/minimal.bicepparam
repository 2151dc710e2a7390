// The least that runs, in a region without zones: no logs, no alerts, no clean-up, no HTTP from the internet.

using 'main.bicep'

param environmentName = 'min'
param regions = [
  { name: 'westus', short: 'wu' }
]
param zoneRedundant = true
param monitoring = false
param keepDays = 0
param publicHttp = false
